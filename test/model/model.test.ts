/**
 * Histories of the whole API against the reference broker. `MODEL_RUNS` says how many (100), `MODEL_SEED` which ones, and
 * `MODEL_PATH` goes straight to the history that a failure printed.
 */
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { useInProcessService } from "../support/in-process.ts";
import { begin, beginnings, command, drain } from "./run.ts";
import { type Clock, World } from "./world.ts";

const RUNS = Number(process.env.MODEL_RUNS ?? 100);
const STEPS = 60;
/** Attempts to make a failing history shorter: each is a run of its own. */
const SHRINKS = Number(process.env.MODEL_SHRINKS ?? 150);
/** `npm test` takes the same histories every time; a long run takes new ones, and says which. */
const anySeed = process.env.MODEL_RUNS === undefined ? 1 : Math.floor(Math.random() * 2 ** 31);
const seed = Number(process.env.MODEL_SEED ?? anySeed);

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

test(`${RUNS} histories of up to ${STEPS} steps go as the reference says`, { timeout: 3_600_000 }, async () => {
  console.log(`model: MODEL_SEED=${seed} MODEL_RUNS=${RUNS}`);
  const processes = [await service.process("one"), await service.process("two")];
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
  const path = process.env.MODEL_PATH;
  await fc.assert(property, {
    seed,
    numRuns: RUNS,
    ...(path !== undefined && { path }),
    endOnFailure: path !== undefined,
  });
  console.log(`model: ${runs} histories, ${steps} calls and moments`);
  expect(runs).toBeGreaterThanOrEqual(RUNS);
});

function replayPath(): { replayPath?: string } {
  const replay = process.env.MODEL_REPLAY;
  return replay === undefined ? {} : { replayPath: replay };
}
