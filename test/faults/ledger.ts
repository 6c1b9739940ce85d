/** What the parts of a run tell each other: who plays which operation, and what became of it. The parts have one parent. */
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Result } from "./matrix.ts";
import { PARTS, TIMEOUT_MS } from "./settings.ts";

const folder = join(tmpdir(), `cairn-crash-matrix-${process.ppid}`);

/** To be called before anything else: forgets what a run left that was cut off, and whose parent had the same number. */
export const openLedger = (): void => {
  if (existsSync(folder) && Date.now() - statSync(folder).mtimeMs > TIMEOUT_MS) rmSync(folder, { recursive: true });
  mkdirSync(folder, { recursive: true });
};

/** Whether the caller is the one to play the operation of that number. */
export const claim = (operation: number): boolean => {
  try {
    mkdirSync(join(folder, `claimed-${operation}`));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
};

/** What became of an operation; or why it could not be played. */
export type Entry = Result | { readonly error: string };

export const enter = (operation: number, entry: Entry): void => {
  const file = fileOf(operation);
  writeFileSync(`${file}.part`, JSON.stringify(entry));
  renameSync(`${file}.part`, file);
};

/** When whoever plays it has entered it. */
export const entryOf = async (operation: number): Promise<Entry> => {
  while (!existsSync(fileOf(operation))) await sleep(LOOKS_MS);
  return readEntry(fileOf(operation));
};

/** Everything that was entered, to the part that is the last to close it; undefined to all others. */
export const closeLedger = (part: number): readonly Entry[] | undefined => {
  mkdirSync(join(folder, `closed-${part}`));
  const names = readdirSync(folder);
  if (names.filter((name) => name.startsWith("closed-")).length < PARTS) return undefined;
  const entries = names.filter((name) => name.endsWith(".json")).map((name) => readEntry(join(folder, name)));
  rmSync(folder, { recursive: true, force: true });
  return entries;
};

const fileOf = (operation: number): string => join(folder, `${operation}.json`);

const readEntry = (file: string): Entry => JSON.parse(readFileSync(file, "utf8")) as Entry;

const LOOKS_MS = 50;
