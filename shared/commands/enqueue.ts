import { createHash } from "node:crypto";
import { DEDUPLICATIONS_PER_CALL } from "../domain/limits.ts";
import type { Message } from "../domain/message.ts";
import { isRefusal, type Refusal, refuse } from "../domain/refusal.ts";
import type { SessionRef } from "../domain/session.ts";
import type { Xid } from "../domain/xid.ts";
import type { Context } from "./context.ts";
import { enqueueInBranch } from "./dtx/enqueue.ts";
import { enqueueNow } from "./enqueue-now.ts";
import { findAnswer } from "./idempotency.ts";
import { fenceCall } from "./sessions/liveness.ts";

/** A request that says how to know it again. */
export interface Idempotency {
  readonly principal: string;
  readonly key: string;
  /** Of everything that makes it the same request. */
  readonly hash: string;
}

export interface Enqueue {
  readonly queue: string;
  readonly messages: readonly Message[];
  readonly session: SessionRef | undefined;
  readonly xid: Xid | undefined;
  readonly idempotency: Idempotency | undefined;
}

/** What one message became. Without a sequence it waits on its branch. */
export interface Enqueued {
  readonly messageId: string;
  readonly queues: readonly { readonly queue: string; readonly sequence?: string }[];
  readonly duplicate: boolean;
}

export interface EnqueueAnswer {
  readonly messages: readonly Enqueued[];
  /** Stored on every queue; false in a branch, where that is the commit's work. */
  readonly completed: boolean;
}

/** Puts messages on a queue, all or nothing, in the order given; in a branch they wait there for its commit. */
export const enqueue = async (context: Context, call: Enqueue): Promise<EnqueueAnswer | Refusal> => {
  const deduplications = call.messages.filter(({ properties }) => properties.deduplicationId !== undefined).length;
  if (deduplications > DEDUPLICATIONS_PER_CALL) {
    return refuse("invalid-argument", `a call has at most ${DEDUPLICATIONS_PER_CALL} deduplication ids × queues`);
  }
  const [fenced, queue, known] = await Promise.all([
    // In a branch the fence is part of the branch's own reading.
    call.xid === undefined ? fenceCall(context, call.session) : undefined,
    // A branch keeps no tail that a deletion could have closed: it must know the queue of now.
    call.xid === undefined
      ? context.settings.find(context.store, call.queue, context.now())
      : context.settings.confirm(context.store, call.queue, context.now()),
    call.idempotency && findAnswer(context, call.idempotency),
  ]);
  // A repeated request is told what the first was told, whatever has happened since.
  if (known !== undefined) return known;
  if (fenced !== undefined) return fenced;
  if (queue === undefined) {
    const missing = refuse("not-found", `queue ${call.queue} does not exist`);
    return call.xid === undefined ? missing : ((await fenceCall(context, call.session)) ?? missing);
  }
  const answer =
    call.xid === undefined
      ? await enqueueNow(context, queue, call)
      : await enqueueInBranch(context, queue, call, call.xid);
  if (!isRefusal(answer) || call.idempotency === undefined) return answer;
  return (await findAnswer(context, call.idempotency)) ?? answer;
};

/** The hash of a request: method, path, body, session and branch are the request. */
export const requestHash = (...parts: readonly string[]): string =>
  createHash("sha256").update(JSON.stringify(parts)).digest("base64url");
