import type { PartitionRef, Queue } from "../domain/queue.ts";
import { liveCount, type Payload, type Run, sizeOf } from "../domain/run.ts";
import { runOwner } from "../records/keys.ts";
import { addFlow, countSettled, type Flow, moveCapacity, noFlow } from "../records/queue.ts";
import { writeRun } from "../records/run.ts";
import type { Item, Write } from "../records/write.ts";
import type { Context } from "./context.ts";
import { deleteChunksOf } from "./payload.ts";

/** Messages that a change has counted at its tail. A change that is decided again counts only what comes on top. */
export interface Counted {
  readonly settled: number;
  readonly dead: number;
}

export const nothingCounted: Counted = { settled: 0, dead: 0 };

/** What became of a changed run: `found` is the record in its place now. `repeated`: see `Commit`. */
export type Changed =
  | { readonly done: true }
  | {
      readonly done: false;
      readonly found: Item | undefined;
      readonly repeated: boolean;
      readonly counted: Counted;
    };

/** The indexes that are settled in `after` and were not in `before`. */
export const leaving = (before: Run, after: Run): readonly number[] =>
  before.slots.flatMap((slot, i) => (slot.state !== "settled" && after.slots[i]?.state === "settled" ? [i] : []));

/** What leaves the queue with these messages. */
export const outflow = (run: Run, indexes: readonly number[]): Flow =>
  addFlow(noFlow, { outMessages: indexes.length, outBytes: sizeOf(run, indexes) });

/** Counts at a run's tail what was not counted yet; nothing to count is no call. */
export const countLeaving = async (
  context: Context,
  partition: PartitionRef,
  wanted: Counted,
  already: Counted,
): Promise<Counted> => {
  const settled = Math.max(wanted.settled, already.settled);
  const dead = Math.max(wanted.dead, already.dead);
  if (settled > already.settled || dead > already.dead) {
    await context.store.count(countSettled(partition, settled - already.settled, dead - already.dead));
  }
  return { settled, dead };
};

/** How a run is changed. */
export interface Changing {
  /** What an earlier attempt at the same change counted. */
  readonly already?: Counted;
  /** Done means that this very call did it (`Write`, `once`). */
  readonly isOnce?: boolean;
  /** Further writes for the commit of the change. */
  readonly beside?: readonly Write[];
}

/** Writes a changed run whose leaving messages go nowhere: one count when any leave, then one commit. */
export const writeLeaving = async (
  context: Context,
  queue: Queue,
  before: Run,
  after: Run,
  { already = nothingCounted, isOnce = false, beside = [] }: Changing = {},
): Promise<Changed> => {
  const indexes = leaving(before, after);
  const counted = await countLeaving(context, before.key, { settled: indexes.length, dead: 0 }, already);
  const write = { ...writeRun(before, after), ...(isOnce && { once: true as const }) };
  const commit = await context.store.commit([write, ...moveCapacity(queue, outflow(before, indexes)), ...beside]);
  if (!commit.done) {
    const failure = commit.failures.find((f) => f.write === write);
    // A limited queue's capacity record only fails when the queue is buried, and then no run is left of it.
    return { done: false, found: failure?.found, repeated: commit.repeated, counted };
  }
  await deleteBodies(context, queue, before, after);
  return { done: true };
};

/** Takes away the bodies of a run that is gone. */
export const deleteBodies = async (context: Context, queue: Queue, before: Run, after: Run): Promise<void> => {
  const payload = liveCount(after) > 0 ? undefined : bodiesToDelete(queue, before);
  if (payload !== undefined) await deleteChunksOf(context, [payload]);
};

/**
 * The chunks to delete when a run goes. With a retention the run's own go by their time to live, which costs nothing; a
 * branch's have none. Of a queue that is gone (undefined) nobody knows: they are deleted.
 */
export const bodiesToDelete = (
  queue: Queue | undefined,
  run: Run,
): Extract<Payload, { kind: "chunks" }> | undefined => {
  if (run.payload.kind === "inline") return undefined;
  const hasTtl = typeof queue?.settings.retentionSeconds === "number" && run.payload.owner === runOwner(run.key);
  return hasTtl ? undefined : run.payload;
};
