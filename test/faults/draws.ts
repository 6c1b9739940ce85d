/** What the product draws at random: the names that differ between two states of the table which are otherwise the same. */
import crypto from "node:crypto";
import { syncBuiltinESMExports } from "node:module";

const drawn = new Set<string>();

/** From now on: keeps every random value as the product writes it, in the letters of an id. Gives what ends it. */
export const keepDraws = (): (() => void) => {
  const original = crypto.randomBytes;
  const kept = (size: number) => {
    const bytes = original(size);
    drawn.add(bytes.toString("base64url"));
    drawn.add(bytes.toString("hex"));
    return bytes;
  };
  // No spy of the test runner: it would keep every call that was ever made.
  Object.assign(crypto, { randomBytes: kept });
  syncBuiltinESMExports();
  return () => {
    Object.assign(crypto, { randomBytes: original });
    syncBuiltinESMExports();
    drawn.clear();
  };
};

/** Texts that may hold something drawn. */
const WORDS = /[\w-]{8,}/g;
/** How many letters the ids have that the product draws: of 16 bytes as digits; of 9, 8 and 6 bytes. */
const LENGTHS = [32, 12, 11, 8] as const;

/** The text with each value that was drawn replaced, whatever else it is part of. */
export const withoutDraws = (text: string, replaced: (value: string) => string): string =>
  text.replace(WORDS, (word) => {
    let rest = "";
    for (let i = 0; i < word.length; ) {
      const at = i;
      const found = LENGTHS.map((length) => word.slice(at, at + length)).find((part) => drawn.has(part));
      rest += found === undefined ? word.charAt(at) : replaced(found);
      i += found?.length ?? 1;
    }
    return rest;
  });
