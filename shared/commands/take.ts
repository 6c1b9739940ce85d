import type { Delivered } from "../domain/delivery.ts";
import type { DeadLetterReason, Message } from "../domain/message.ts";
import type { PartitionRef, Queue } from "../domain/queue.ts";
import { type Lease, lease, type Run, type RunKey, settle, slotAt, standingOf } from "../domain/run.ts";
import { runKey } from "../records/keys.ts";
import { readRun } from "../records/run.ts";
import type { Acquire } from "./acquire.ts";
import { changeRun, type Dead } from "./change-run.ts";
import type { Context } from "./context.ts";
import { meetBranches } from "./dtx/meet.ts";
import { loadMessages } from "./payload.ts";
import { runPages } from "./runs.ts";
import { leaseSessions } from "./sessions/lease-liveness.ts";
import { livenessOf } from "./sessions/liveness.ts";

/** What one call has taken so far. */
export interface Taking {
  readonly queue: Queue;
  readonly call: Acquire;
  readonly token: string;
  readonly taken: Taken[];
  messagesLeft: number;
  bytesLeft: number;
  isFull: boolean;
}

export interface Taken {
  readonly run: Run;
  readonly indexes: readonly number[];
  readonly lease: Lease | undefined;
  /** Read before they were removed; leased ones are read after. */
  readonly messages: ReadonlyMap<number, Message> | undefined;
}

/** Runs of a first query: what a read unit holds; later ones look further at once. */
const FIRST_RUNS = 4;
const MOST_RUNS = 100;

const firstLimit = (messages: number): number => Math.min(Math.max(messages, FIRST_RUNS), MOST_RUNS / 4);

const pageOf = async (
  context: Context,
  partition: PartitionRef,
  from: number,
  limit: number,
): Promise<readonly Run[]> => (await runPages(context, partition, { from, limit }).next()).value ?? [];

/** The runs at a partition's head that a call for so many messages looks at first. */
export const firstRuns = (context: Context, partition: PartitionRef, messages: number): Promise<readonly Run[]> =>
  pageOf(context, partition, 0, firstLimit(messages));

/** Takes from the head on; false when the call has enough. `first`: the first runs, when they were read already. */
export const takeFromPartition = async (
  context: Context,
  taking: Taking,
  partition: PartitionRef,
  first?: readonly Run[],
): Promise<boolean> => {
  let limit = firstLimit(taking.messagesLeft);
  let from = 0;
  for (;;) {
    const runs: readonly Run[] =
      from === 0 && first !== undefined ? first : await pageOf(context, partition, from, limit);
    for (const run of runs) {
      await takeFromRun(context, taking, run);
      if (taking.messagesLeft <= 0 || taking.isFull) return false;
    }
    const last = runs.at(-1);
    if (last === undefined) return true;
    from = last.key.position + 1;
    limit = Math.min(limit * 4, MOST_RUNS);
  }
};

/** How often a run is tried that others take from at the same time, before it is passed with what is left in it. */
const ROUNDS = 50;

/** Leases what is claimable of a run, and sends on what time has ended; it is passed only when nothing in it is claimable. */
const takeFromRun = async (context: Context, taking: Taking, first: Run): Promise<void> => {
  let run: Run | undefined = first;
  for (let round = 0; run !== undefined && round < ROUNDS; round++) {
    const found = await lookInto(context, taking, run);
    run = found.run;
    taking.isFull ||= found.isFull;
    if (run === undefined || found.claimable.length + found.dead.length + found.dropped.length === 0) return;
    const next: Run | "done" | undefined = await take(context, taking, run, found);
    if (next === "done") return;
    run = next;
  }
};

interface Look {
  readonly run: Run | undefined;
  readonly claimable: readonly number[];
  readonly dead: readonly Dead[];
  readonly dropped: readonly number[];
  /** The answer has no room for the next available message. */
  readonly isFull: boolean;
}

const deadReasons: Readonly<Record<"expired" | "exhausted", DeadLetterReason>> = {
  expired: "expired",
  exhausted: "max-deliveries",
};

/** How the messages stand: leases' sessions are read freshly, and branches met that hold something past its time. */
const lookInto = async (context: Context, taking: Taking, first: Run): Promise<Look> => {
  const claimable: number[] = [];
  const dead: Dead[] = [];
  const dropped: number[] = [];
  const run = await freed(context, first);
  if (run === undefined) return { run, claimable, dead, dropped, isFull: false };
  const nowMs = context.now();
  const isAlive = await livenessOf(context, leaseSessions([run], nowMs));
  let bytesLeft = taking.bytesLeft;
  let isFull = false;
  for (const index of run.slots.keys()) {
    const standing = standingOf(run, index, taking.queue.settings, nowMs, isAlive);
    if (standing === "expired" || standing === "exhausted") dead.push({ index, reason: deadReasons[standing] });
    if (standing === "dropped") dropped.push(index);
    if (standing !== "available" || isFull || claimable.length >= taking.messagesLeft) continue;
    bytesLeft -= bytesOf(run, index);
    // One message is always given, however large.
    isFull = bytesLeft < 0 && (claimable.length > 0 || taking.taken.length > 0);
    if (!isFull) claimable.push(index);
  }
  return { run, claimable, dead, dropped, isFull };
};

const bytesOf = (run: Run, index: number): number => (run.sizes[index] ?? 0) + run.overheadBytes;

/** The run after the branches were met that hold something of it: time or a session's end may have undone their work. */
const freed = async (context: Context, run: Run): Promise<Run | undefined> =>
  (await meetBranches(context, run.holds)) ? reread(context, run.key) : run;

const reread = async (context: Context, key: RunKey): Promise<Run | undefined> => {
  const item = await context.store.read(runKey(key));
  return item && readRun(item, key);
};

/** One attempt to take; else the run as others left it, undefined when it is gone. */
const take = async (
  context: Context,
  taking: Taking,
  run: Run,
  { claimable, dead, dropped }: Look,
): Promise<Run | "done" | undefined> => {
  const { call, queue, token } = taking;
  const leased: Lease = {
    token,
    expiresAtMs: context.now() + (call.leaseSeconds ?? queue.settings.leaseSeconds) * 1000,
    ...(call.session !== undefined && { session: call.session }),
  };
  const isRemoving = call.settle === "none";
  const messages = isRemoving ? await loadMessages(context, run.payload, claimable) : undefined;
  const delivered = lease(run, claimable, leased);
  const gone = [...dead.map(({ index }) => index), ...dropped, ...(isRemoving ? claimable : [])];
  const after = { ...(gone.length === 0 ? delivered : settle(delivered, gone)), version: run.version + 1 };
  // Nothing would tell a removal of ours, whose answer was lost, from another call's: it goes under a token.
  const changed = await changeRun(context, queue, run, after, dead, { isOnce: isRemoving });
  if (changed.done) {
    record(taking, { run: delivered, indexes: claimable, lease: isRemoving ? undefined : leased, messages });
    return "done";
  }
  const now = changed.found && readRun(changed.found, run.key);
  const mine = now === undefined ? [] : indexesUnder(now, token);
  if (now === undefined || mine.length === 0) return now;
  // An attempt whose answer was lost had landed.
  record(taking, { run: now, indexes: mine, lease: leased, messages });
  return "done";
};

const record = (taking: Taking, taken: Taken): void => {
  if (taken.indexes.length === 0) return;
  taking.taken.push(taken);
  taking.messagesLeft -= taken.indexes.length;
  taking.bytesLeft -= taken.indexes.reduce((sum, index) => sum + bytesOf(taken.run, index), 0);
};

const indexesUnder = (run: Run, token: string): readonly number[] =>
  run.slots.flatMap((slot, i) => (slot.state === "leased" && slot.lease.token === token ? [i] : []));

/** What is answered of a run that was taken from; a message whose body is gone was settled by others since, and left out. */
export const deliver = async (context: Context, queue: Queue, taken: Taken): Promise<readonly Delivered[]> => {
  const { run, indexes } = taken;
  const messages = taken.messages ?? (await loadMessages(context, run.payload, indexes));
  return indexes.flatMap((index) => {
    const message = messages.get(index);
    const slot = slotAt(run, index);
    if (message === undefined || slot.state === "settled") return [];
    return [
      {
        run: run.key,
        index,
        partitions: queue.settings.partitions,
        message,
        messageIdBase: run.messageIdBase,
        deliveries: slot.deliveries,
        lease: taken.lease,
      },
    ];
  });
};
