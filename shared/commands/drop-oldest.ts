import { RECORDS_PER_COMMIT } from "../domain/limits.ts";
import { isLimited, partitionsOf, type Queue } from "../domain/queue.ts";
import { type Run, type Standing, settle, sizeOf, standingOf } from "../domain/run.ts";
import { capacityKey } from "../records/keys.ts";
import {
  addFlow,
  type Capacity,
  countSettled,
  type Flow,
  moveCapacity,
  noFlow,
  readCapacity,
} from "../records/queue.ts";
import { writeRun } from "../records/run.ts";
import type { Write } from "../records/write.ts";
import { Unavailable } from "../store/port.ts";
import type { Context } from "./context.ts";
import { deleteBodies, leaving, outflow, writeLeaving } from "./leave.ts";
import { merged } from "./merged.ts";
import { eachOf } from "./payload.ts";
import { runsOf } from "./runs.ts";
import { leaseLiveness } from "./sessions/lease-liveness.ts";

/** What a call wants to put on a limited queue. */
export interface Need {
  readonly messages: number;
  readonly bytes: number;
}

/**
 * Room made on a limited queue, in the commit of whoever needs it: `roomWrites` go beside its own writes, `dropped` into
 * `moveCapacity`, `countRoom` comes before the commit and `clearRoom` after it. Empty when there is room now.
 */
export interface Room {
  readonly changes: readonly { readonly before: Run; readonly after: Run }[];
  readonly dropped: Flow;
}

/** There is room as it is. */
export const noRoom: Room = { changes: [], dropped: noFlow };

export const roomWrites = (room: Room): readonly Write[] =>
  room.changes.map(({ before, after }) => writeRun(before, after));

/** Counts what is about to be dropped: once it is known that nothing else refuses the call. */
export const countRoom = async (context: Context, room: Room): Promise<void> =>
  eachOf(room.changes, async ({ before, after }) => {
    await context.store.count(countSettled(before.key, leaving(before, after).length, 0));
  });

export const clearRoom = async (context: Context, queue: Queue, room: Room): Promise<void> =>
  eachOf(room.changes, ({ before, after }) => deleteBodies(context, queue, before, after));

/** What a limited queue has left: read now, so that only a race can contradict it. */
export const freeCapacity = async (context: Context, queue: Queue): Promise<Capacity> => {
  const item = await context.store.read(capacityKey(queue));
  return item === undefined ? { messages: 0, bytes: 0 } : readCapacity(item);
};

/** Whether what enters finds room as things are: asked before it is counted, so that only a race counts what is refused. */
export const hasRoom = async (context: Context, queue: Queue, { inMessages, inBytes }: Flow): Promise<boolean> => {
  if (!isLimited(queue.settings) || inMessages === 0) return true;
  const short = shortOf({ messages: inMessages, bytes: inBytes }, await freeCapacity(context, queue));
  return short.messages <= 0 && short.bytes <= 0;
};

/** Runs that one query reads: ring queues drop at their head, a few at a time. */
const RUNS_PER_QUERY = 25;

/**
 * Finds the oldest messages that nobody has, as many as must go. More runs than `records` are dropped at once, in commits
 * of their own; throws `Unavailable` when the call's time is over before that: repeated, it goes on. Undefined when too
 * little can go.
 */
export const dropOldest = async (
  context: Context,
  queue: Queue,
  need: Need,
  records: number,
): Promise<Room | undefined> => {
  for (;;) {
    const short = shortOf(need, await freeCapacity(context, queue));
    const found = await findOldest(context, queue, short);
    if (found === undefined) return undefined;
    const changes = found.map(({ run, indexes }) => ({ before: run, after: settle(run, indexes) }));
    if (changes.length <= records) {
      return { changes, dropped: found.reduce((sum, f) => addFlow(sum, outflow(f.run, f.indexes)), noFlow) };
    }
    await eachOf(changes.slice(0, changes.length - records), async ({ before, after }) => {
      if (context.now() >= context.stopAtMs) throw new Unavailable(`making room on queue ${queue.name} goes on`);
      await writeLeaving(context, queue, before, after);
    });
  }
};

/** Makes the room in a commit of its own, for whoever cannot take it along. False when too little can go. */
export const dropOldestNow = async (context: Context, queue: Queue, need: Need): Promise<boolean> => {
  const room = await dropOldest(context, queue, need, RECORDS_PER_COMMIT);
  if (room === undefined || room.changes.length === 0) return room !== undefined;
  await countRoom(context, room);
  const commit = await context.store.commit([...roomWrites(room), ...moveCapacity(queue, noFlow, room.dropped)]);
  if (commit.done) await clearRoom(context, queue, room);
  return true;
};

const shortOf = (need: Need, free: Capacity): Need => ({
  messages: free.messages === undefined ? 0 : need.messages - free.messages,
  bytes: free.bytes === undefined ? 0 : need.bytes - free.bytes,
});

interface Found {
  readonly run: Run;
  readonly indexes: readonly number[];
}

const findOldest = async (context: Context, queue: Queue, short: Need): Promise<readonly Found[] | undefined> => {
  const found: Found[] = [];
  let { messages, bytes } = short;
  if (messages <= 0 && bytes <= 0) return found;
  for await (const run of oldestFirst(context, queue)) {
    const indexes: number[] = [];
    for (const index of await droppable(context, queue, run)) {
      if (messages <= 0 && bytes <= 0) break;
      indexes.push(index);
      messages -= 1;
      bytes -= sizeOf(run, [index]);
    }
    if (indexes.length > 0) found.push({ run, indexes });
    if (messages <= 0 && bytes <= 0) return found;
  }
  return undefined;
};

/** What nobody has: available, or over by time and not swept yet. A delayed release counts as leased and stays. */
const droppable = async (context: Context, queue: Queue, run: Run): Promise<readonly number[]> => {
  const isAlive = await leaseLiveness(context, [run]);
  const nowMs = context.now();
  const free: readonly Standing[] = ["available", "expired", "dropped", "exhausted"];
  return run.slots.flatMap((_, index) =>
    free.includes(standingOf(run, index, queue.settings, nowMs, isAlive)) ? [index] : [],
  );
};

/** The runs of all partitions, by their age. */
export const oldestFirst = (context: Context, queue: Queue): AsyncGenerator<Run> =>
  merged(
    partitionsOf(queue).map((partition) => runsOf(context, partition, { limit: RUNS_PER_QUERY })),
    (a, b) => a.createdAtMs < b.createdAtMs,
  );
