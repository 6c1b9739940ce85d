import type { Operation } from "../../domain/operation.ts";
import type { RunKey } from "../../domain/run.ts";
import { runKey } from "../../records/keys.ts";
import { readRun } from "../../records/run.ts";
import type { Context } from "../context.ts";
import { settleSome } from "./settle-some.ts";
import { allButHeld, findDeleted } from "./sweep.ts";

/**
 * Sweeps what a rollback has freed on queues that were deleted meanwhile; on live queues it is simply available again. A
 * crash before this leaves it to the schedule, which sweeps a deleted queue until nothing is left of it.
 */
export const sweepFreed = async (context: Context, operations: readonly Operation[]): Promise<void> => {
  const byQueue = Map.groupBy(
    operations.flatMap((operation): readonly RunKey[] => (operation.kind === "remove" ? [operation.run] : [])),
    ({ name, generation }) => `${name}#${generation}`,
  );
  for (const runs of byQueue.values()) await sweepRunsOf(context, runs);
};

const sweepRunsOf = async (context: Context, keys: readonly RunKey[]): Promise<void> => {
  const [first] = keys;
  if (first === undefined) return;
  const live = await context.settings.find(context.store, first.name, context.now());
  // A kept copy may say that a queue is there which is not any more: then the schedule sweeps it, within a minute.
  if (live?.generation === first.generation) return;
  const deleted = await findDeleted(context, first);
  if (deleted === undefined) return;
  for (const key of keys.toSorted((a, b) => a.position - b.position)) {
    const item = await context.store.read(runKey(key));
    if (item !== undefined) await settleSome(context, deleted, readRun(item, key), allButHeld);
  }
};
