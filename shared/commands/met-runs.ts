import type { PartitionRef } from "../domain/queue.ts";
import type { IsAlive, Run } from "../domain/run.ts";
import { runKey } from "../records/keys.ts";
import { readRun } from "../records/run.ts";
import type { Context } from "./context.ts";
import { meetBranches } from "./dtx/meet.ts";
import { type RunsWanted, runPages } from "./runs.ts";
import { leaseLiveness } from "./sessions/lease-liveness.ts";

/** Runs as time has left them, and what it takes to say how their messages stand: `standingOf`. */
export interface MetRuns {
  readonly runs: readonly Run[];
  readonly nowMs: number;
  readonly isAlive: IsAlive;
}

/**
 * The runs of a partition, for readers who tell exactly what is available. The branch of every hold is met, not only of
 * those past the deadline that the hold names: a branch's time may have been shortened since, and any session that
 * worked in it may have ended.
 */
export async function* metRunsOf(
  context: Context,
  partition: PartitionRef,
  wanted: RunsWanted = {},
): AsyncGenerator<MetRuns> {
  for await (const page of runPages(context, partition, wanted)) {
    const runs = await meetHolds(context, page);
    const isAlive = await leaseLiveness(context, runs);
    yield { runs, isAlive, nowMs: context.now() };
  }
}

const meetHolds = async (context: Context, runs: readonly Run[]): Promise<readonly Run[]> => {
  const holds = Object.fromEntries(runs.flatMap((run) => Object.entries(run.holds)));
  if (!(await meetBranches(context, holds))) return runs;
  const held = runs.filter((run) => Object.keys(run.holds).length > 0);
  const items = await context.store.readAll(held.map((run) => runKey(run.key)));
  const again = new Map(held.map((run, i) => [run, items[i]]));
  return runs.flatMap((run) => {
    if (!again.has(run)) return run;
    const item = again.get(run);
    return item === undefined ? [] : readRun(item, run.key);
  });
};
