/**
 * Histories of the whole API against the reference broker. `MODEL_RUNS` says how many (100), `MODEL_SEED` which ones, and
 * `MODEL_PATH` goes straight to the history that a failure printed. Two test files play half of them each, so that two
 * workers are at it.
 */
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type InProcess, useInProcessService } from "../support/in-process.ts";
import { begin, beginnings, command, drain } from "./run.ts";
import { type Clock, World } from "./world.ts";

const ALL_RUNS = Number(process.env.MODEL_RUNS ?? 100);
const STEPS = 60;
/** Attempts to make a failing history shorter: each is a run of its own. */
const SHRINKS = Number(process.env.MODEL_SHRINKS ?? 150);
/** `npm test` takes the same histories every time; a long run takes new ones, and says which. */
const anySeed = process.env.MODEL_RUNS === undefined ? 1 : Math.floor(Math.random() * 2 ** 31);
const firstSeed = Number(process.env.MODEL_SEED ?? anySeed);
const path = process.env.MODEL_PATH;

/** The test of one half: the second takes the seed after that of the first. A path belongs to one seed: the first plays it. */
export const testHalf = (half: 0 | 1): void => {
  const seed = firstSeed + half;
  const count = half === 0 ? Math.ceil(ALL_RUNS / 2) : Math.floor(ALL_RUNS / 2);
  const service = useInProcessService();
  const clock: Clock = { nowMs: Math.floor(Date.now() / 1000) * 1000 };
  const machineNow = Date.now;
  beforeAll(() => {
    // The service's clocks, and with them everybody's here, stand still between the steps.
    Date.now = () => clock.nowMs;
  });
  afterAll(() => {
    Date.now = machineNow;
  });
  test(`${count} histories of up to ${STEPS} steps go as the reference says`, { timeout: 3_600_000 }, async () => {
    if (path !== undefined && half === 1) return;
    console.log(`model: ${count} histories, MODEL_SEED=${seed}`);
    const processes = [await service.process("one"), await service.process("two")];
    const played = await play(processes, clock, seed, count);
    console.log(`model: ${played.runs} histories, ${played.steps} calls and moments, MODEL_SEED=${seed}`);
    expect(played.runs).toBeGreaterThanOrEqual(path === undefined ? count : 1);
  });
};

const play = async (
  processes: readonly InProcess[],
  clock: Clock,
  seed: number,
  numRuns: number,
): Promise<{ readonly runs: number; readonly steps: number }> => {
  let runs = 0;
  let steps = 0;
  let shrinks = -1;
  const property = fc.asyncProperty(
    beginnings,
    fc.commands([command], { maxCommands: STEPS, size: "max", ...replayPath() }),
    async (beginning, commands) => {
      if (shrinks >= SHRINKS) return;
      if (shrinks >= 0) shrinks++;
      const w = new World(processes, clock, ++runs);
      try {
        await begin(w, beginning);
        await fc.asyncModelRun(() => ({ model: w, real: w }), commands);
        await drain(w);
      } catch (error) {
        shrinks = Math.max(shrinks, 0);
        throw new Error(`${error instanceof Error ? error.message : error}\n\n${w.history.join("\n")}\n`, {
          cause: error,
        });
      }
      steps += w.history.length;
    },
  );
  await fc.assert(property, {
    seed,
    numRuns,
    ...(path !== undefined && { path }),
    endOnFailure: path !== undefined,
  });
  return { runs, steps };
};

function replayPath(): { replayPath?: string } {
  const replay = process.env.MODEL_REPLAY;
  return replay === undefined ? {} : { replayPath: replay };
}
