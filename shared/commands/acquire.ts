import { randomBytes, randomInt } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Delivered } from "../domain/delivery.ts";
import { ANSWER_BYTES } from "../domain/limits.ts";
import { partitionsOf, type Queue } from "../domain/queue.ts";
import { type Refusal, refuse } from "../domain/refusal.ts";
import type { SessionRef } from "../domain/session.ts";
import { mayWork } from "../domain/verb.ts";
import type { Xid } from "../domain/xid.ts";
import type { Context } from "./context.ts";
import { loadBranch } from "./dtx/load.ts";
import { fenceCall } from "./sessions/liveness.ts";
import { deliver, type Taking, takeFromPartition } from "./take.ts";

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
  const refusal = await refusalFor(context, call);
  if (refusal !== undefined) return refusal;
  const untilMs = context.now() + call.waitSeconds * 1000;
  for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS)) {
    const delivered = await acquireFromQueue(context, call);
    if ("refusal" in delivered || delivered.length > 0) return delivered;
    const leftMs = untilMs - context.now();
    if (leftMs <= 0) return delivered;
    await sleep(Math.min(waitMs, leftMs));
    const fenced = await fenceCall(context, call.session);
    if (fenced !== undefined) return fenced;
  }
};

const refusalFor = async (context: Context, call: Acquire): Promise<Refusal | undefined> => {
  const fenced = await fenceCall(context, call.session);
  if (fenced !== undefined || call.xid === undefined) return fenced;
  if (call.settle === "none") return refuse("command-invalid", "settle none and Xid exclude each other");
  if (call.session === undefined) {
    return refuse("illegal-state", `work in branch ${call.xid} needs a session that is associated with it`);
  }
  return mayWork(await loadBranch(context, call.xid), call.xid, call.session);
};

/** One look at the queue. Before it says empty, it makes sure that this still is the queue of that name. */
const acquireFromQueue = async (context: Context, call: Acquire): Promise<readonly Delivered[] | Refusal> => {
  const missing = refuse("not-found", `queue ${call.queue} does not exist`);
  const queue = await context.settings.find(context.store, call.queue, context.now());
  if (queue === undefined) return missing;
  const delivered = await acquireFrom(context, call, queue);
  if (delivered.length > 0) return delivered;
  const again = await context.settings.find(context.store, call.queue, context.now(), true);
  if (again === undefined) return missing;
  return again.generation === queue.generation ? delivered : acquireFrom(context, call, again);
};

const acquireFrom = async (context: Context, call: Acquire, queue: Queue): Promise<readonly Delivered[]> => {
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
  const first = randomInt(partitions.length);
  for (const partition of [...partitions.slice(first), ...partitions.slice(0, first)]) {
    if (!(await takeFromPartition(context, taking, partition))) break;
  }
  const delivered = await Promise.all(taking.taken.map((taken) => deliver(context, queue, taken)));
  return delivered.flat();
};
