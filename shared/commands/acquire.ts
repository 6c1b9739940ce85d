import { randomBytes, randomInt } from "node:crypto";
import type { Delivered } from "../domain/delivery.ts";
import { ANSWER_BYTES } from "../domain/limits.ts";
import { type PartitionRef, partitionsOf, type Queue } from "../domain/queue.ts";
import { type Refusal, refuse } from "../domain/refusal.ts";
import type { Run } from "../domain/run.ts";
import { fence, type SessionRef } from "../domain/session.ts";
import { mayWork } from "../domain/verb.ts";
import type { Xid } from "../domain/xid.ts";
import type { Context } from "./context.ts";
import { loadBranchAnd } from "./dtx/load.ts";
import { looks } from "./looks.ts";
import { fenceCall } from "./sessions/liveness.ts";
import { deliver, firstRuns, type Taking, takeFromPartition } from "./take.ts";

export interface Acquire {
  readonly queue: string;
  readonly maxMessages: number;
  readonly waitSeconds: number;
  /** Undefined: the queue's. */
  readonly leaseSeconds: number | undefined;
  /** `none` removes on delivery. */
  readonly settle: "explicit" | "none";
  readonly session: SessionRef | undefined;
  readonly xid: Xid | undefined;
}

/** Between two looks at an empty queue: the first soon, later ones rarer, because each costs a read. */
const FIRST_WAIT_MS = 50;
const LONGEST_WAIT_MS = 1_000;

/** Leases the first available messages of a queue, in order; waits for the first of them when asked to. */
export const acquire = async (context: Context, call: Acquire): Promise<readonly Delivered[] | Refusal> => {
  // Both only read; nothing is leased before it is known that the call may.
  const [refusal, first] = await Promise.all([refusalFor(context, call), headOf(context, call)]);
  if (refusal !== undefined) return refusal;
  let head = first;
  let isFenced = true;
  const untilMs = context.now() + call.waitSeconds * 1000;
  for await (const _ of looks(context, untilMs, FIRST_WAIT_MS, LONGEST_WAIT_MS)) {
    const fenced = isFenced ? undefined : await fenceCall(context, call.session);
    if (fenced !== undefined) return fenced;
    const delivered = await acquireFromQueue(context, call, head);
    if ("refusal" in delivered || delivered.length > 0) return delivered;
    // What was read for the first look says nothing to the next one.
    head = undefined;
    isFenced = false;
  }
  return [];
};

const refusalFor = async (context: Context, call: Acquire): Promise<Refusal | undefined> => {
  const { xid, session: by, settle } = call;
  if (xid !== undefined && by !== undefined && settle !== "none") {
    const { branch, session } = await loadBranchAnd(context, xid, by);
    return fence(session, by, context.now()) ?? mayWork(branch, xid, by);
  }
  const fenced = await fenceCall(context, by);
  if (fenced !== undefined || xid === undefined) return fenced;
  if (settle === "none") return refuse("command-invalid", "settle none and Xid exclude each other");
  return refuse("illegal-state", `work in branch ${xid} needs a session that is associated with it`);
};

/** A queue as it is known, and the first runs of the partition that a look at it begins with. */
interface Head {
  readonly queue: Queue;
  readonly at: PartitionRef;
  readonly runs: readonly Run[];
}

const headOf = async (context: Context, call: Acquire): Promise<Head | undefined> => {
  const queue = await context.settings.find(context.store, call.queue, context.now());
  if (queue === undefined) return undefined;
  const { name, generation, settings } = queue;
  const at = { name, generation, partition: randomInt(settings.partitions) };
  return { queue, at, runs: await firstRuns(context, at, call.maxMessages) };
};

/** One look at the queue. Before it says empty, it makes sure that this still is the queue of that name. */
const acquireFromQueue = async (
  context: Context,
  call: Acquire,
  known: Head | undefined,
): Promise<readonly Delivered[] | Refusal> => {
  const missing = refuse("not-found", `queue ${call.queue} does not exist`);
  const head = known ?? (await headOf(context, call));
  if (head === undefined) return missing;
  const delivered = await acquireFrom(context, call, head);
  if (delivered.length > 0) return delivered;
  const again = await context.settings.find(context.store, call.queue, context.now(), true);
  if (again === undefined) return missing;
  if (again.generation === head.queue.generation) return delivered;
  const anew = await headOf(context, call);
  return anew === undefined ? missing : acquireFrom(context, call, anew);
};

const acquireFrom = async (
  context: Context,
  call: Acquire,
  { queue, at, runs }: Head,
): Promise<readonly Delivered[]> => {
  const taking: Taking = {
    queue,
    call,
    token: randomBytes(8).toString("base64url"),
    taken: [],
    messagesLeft: call.maxMessages,
    bytesLeft: ANSWER_BYTES,
    isFull: false,
  };
  const partitions = partitionsOf(queue);
  const others = [...partitions.slice(at.partition + 1), ...partitions.slice(0, at.partition)];
  let wantsMore = await takeFromPartition(context, taking, at, runs);
  for (const partition of others) {
    if (!wantsMore) break;
    wantsMore = await takeFromPartition(context, taking, partition);
  }
  const delivered = await Promise.all(taking.taken.map((taken) => deliver(context, queue, taken)));
  return delivered.flat();
};
