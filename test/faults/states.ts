/** States of a table that are the same but for the names that were drawn at random, and the moment. */
import { createHash } from "node:crypto";
import { withoutDraws } from "./draws.ts";
import { type StoredRecord, textOfRecord } from "./records.ts";

/** Two times less far apart than this are one: what a case takes lies below it, what a scene's times differ by above. */
const MOMENT_MS = 20_000;

/** Times further from the scene than this are no times. */
const AROUND_MS = 60 * 24 * 3_600_000;

/**
 * A text that two states share exactly when one becomes the other by other names for what was drawn, and by moments: whatever
 * a process that starts on one of them does, it does on the other. `sceneMs`: what times are told from.
 */
export const textOfState = (records: readonly StoredRecord[], sceneMs: number): string => {
  const lines = records.map((record) =>
    lineOf(timeless(short(textOfRecord(record).replaceAll(SHARD, "$1#")), sceneMs)),
  );
  const places = placesOf(lines);
  const sorted = lines.toSorted((a, b) => compare(told(a, places), told(b, places)));
  const names = new Map<string, number>();
  for (const value of sorted.flatMap(({ drawn }) => drawn)) if (!names.has(value)) names.set(value, names.size);
  return sorted.map((line) => told(line, names)).join("\n");
};

/** The text of a record between the values in it that were drawn. */
interface Line {
  readonly between: readonly string[];
  readonly drawn: readonly string[];
}

const lineOf = (text: string): Line => {
  const drawn: string[] = [];
  const between = withoutDraws(text, (value) => {
    drawn.push(value);
    return "\0";
  }).split("\0");
  return { between, drawn };
};

const told = ({ between, drawn }: Line, names: ReadonlyMap<string, number | string>): string =>
  between.map((part, i) => (i === 0 ? part : `$${names.get(drawn[i - 1] ?? "") ?? ""}${part}`)).join("");

/**
 * What tells drawn values from one another, whatever they are: in which records they stand, and where in them, and beside
 * which others. So records that are alike but for what they name come in one order.
 */
const placesOf = (lines: readonly Line[]): ReadonlyMap<string, string> => {
  let places: ReadonlyMap<string, string> = new Map();
  for (let round = 0; round < ROUNDS; round += 1) {
    const found = new Map<string, string[]>();
    for (const line of lines) {
      const text = digest(told(line, places));
      for (const [i, value] of line.drawn.entries()) {
        const all = found.get(value) ?? [];
        found.set(value, all);
        all.push(`${i} ${text}`);
      }
    }
    places = new Map([...found].map(([value, all]) => [value, digest(all.toSorted(compare).join("\n"))]));
  }
  return places;
};

/** A value of a block names a branch, which names a command, which names a payload. */
const ROUNDS = 3;

const digest = (text: string): string => createHash("sha1").update(text).digest("base64url");

/** So many moments after the scene. */
export const momentOf = (ms: number, sceneMs: number): number => Math.round((ms - sceneMs) / MOMENT_MS);

/** Which of equal shards a record lies on is a hash of names that may have been drawn. */
const SHARD = /(TAIL|TPL)#\d\d/g;

/** What fills up bodies, told by its length. */
const short = (text: string): string =>
  text.replace(/([a-z])\1{15,}/g, (run, letter: string) => `${letter}*${run.length}`);

/** Milliseconds, or seconds, since 1970. */
const timeless = (text: string, sceneMs: number): string =>
  text.replace(/(?<!\d)(?:\d{13}|\d{10})(?!\d)/g, (digits) => {
    const ms = Number(digits) * (digits.length === 10 ? 1000 : 1);
    return Math.abs(ms - sceneMs) > AROUND_MS ? digits : `@${momentOf(ms, sceneMs)}${digits.length === 10 ? "s" : ""}`;
  });

const compare = (a: string, b: string): number => (a < b ? -1 : Number(a > b));
