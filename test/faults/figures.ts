/** The figures of a run, whose parts are played by processes of their own. */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PARTS, seed } from "./settings.ts";

export interface Figures {
  readonly operations: number;
  readonly calls: number;
  readonly cases: number;
  readonly failed: number;
}

/**
 * Keeps a part's figures beside those of the run's other parts, and tells the sum as one line to the last of them; undefined
 * to all others. The parts of a run have one parent.
 */
export const sumUp = (part: number, figures: Figures): string | undefined => {
  const folder = join(tmpdir(), `cairn-crash-matrix-${process.ppid}`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, String(part)), JSON.stringify(figures));
  const parts = readdirSync(folder);
  if (parts.length < PARTS) return undefined;
  const all = parts.map((name): Figures => JSON.parse(readFileSync(join(folder, name), "utf8")));
  rmSync(folder, { recursive: true, force: true });
  const sum = (of: keyof Figures) => all.reduce((total, each) => total + each[of], 0);
  const survived = sum("cases") - sum("failed");
  return `${sum("operations")} operations, ${sum("calls")} calls, ${sum("cases")} cases, ${survived} survived (seed ${seed})`;
};
