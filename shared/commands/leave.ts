import type { Queue } from "../domain/queue.ts";
import { liveCount, type Payload, type Run, sizeOf } from "../domain/run.ts";
import { runOwner } from "../records/keys.ts";
import { addFlow, countSettled, type Flow, moveCapacity, noFlow } from "../records/queue.ts";
import { writeRun } from "../records/run.ts";
import type { Item } from "../records/write.ts";
import type { Context } from "./context.ts";
import { deletePayload } from "./payload.ts";

/** What became of a changed run: `found` is the record in its place now. `repeated`: see `Commit`. */
export type Changed =
  | { readonly done: true }
  | { readonly done: false; readonly found: Item | undefined; readonly repeated: boolean };

/** The indexes that are settled in `after` and were not in `before`. */
export const leaving = (before: Run, after: Run): readonly number[] =>
  before.slots.flatMap((slot, i) => (slot.state !== "settled" && after.slots[i]?.state === "settled" ? [i] : []));

/** What leaves the queue with these messages. */
export const outflow = (run: Run, indexes: readonly number[]): Flow =>
  addFlow(noFlow, { outMessages: indexes.length, outBytes: sizeOf(run, indexes) });

/** Writes a changed run whose leaving messages go nowhere: one count when any leave, then one commit. */
export const writeLeaving = async (context: Context, queue: Queue, before: Run, after: Run): Promise<Changed> => {
  const indexes = leaving(before, after);
  if (indexes.length > 0) await context.store.count(countSettled(before.key, indexes.length, 0));
  const write = writeRun(before, after);
  const commit = await context.store.commit([write, ...moveCapacity(queue, outflow(before, indexes))]);
  if (!commit.done) {
    const failure = commit.failures.find((f) => f.write === write);
    // A limited queue's capacity record only fails when the queue is buried, and then no run is left of it.
    return { done: false, found: failure?.found, repeated: commit.repeated };
  }
  await deleteBodies(context, queue, before, after);
  return { done: true };
};

/** Takes away the bodies of a run that is gone. */
export const deleteBodies = async (context: Context, queue: Queue, before: Run, after: Run): Promise<void> => {
  if (liveCount(after) === 0 && bodiesToDelete(queue, before) !== undefined) await deletePayload(context, before);
};

/**
 * The payload that must be deleted when its run is gone. None when it lies in the record itself, or when the queue's
 * retention gave it a time to live, which costs nothing; what a branch stored has none. `queue`: undefined when unknown.
 */
export const bodiesToDelete = (queue: Queue | undefined, { payload, key }: Run): Payload | undefined => {
  if (payload.kind === "inline") return undefined;
  const retention = queue?.settings.retentionSeconds ?? null;
  return retention !== null && payload.owner === runOwner(key) ? undefined : payload;
};
