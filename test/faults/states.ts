/** States of a table that are the same but for the names that were drawn at random, and the moment. */
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
  const texts = records.map((record) => timeless(short(textOfRecord(record).replaceAll(SHARD, "$1#")), sceneMs));
  const names = new Map<string, string>();
  const named = (value: string) => {
    const name = names.get(value) ?? `$${names.size}`;
    names.set(value, name);
    return name;
  };
  return texts
    .map((text) => ({ text, nameless: withoutDraws(text, () => "$") }))
    .toSorted((a, b) => compare(a.nameless, b.nameless) || compare(a.text, b.text))
    .map(({ text }) => withoutDraws(text, named))
    .join("\n");
};

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
