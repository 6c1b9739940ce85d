import { ANSWER_BYTES, DEDUPLICATIONS_PER_CALL, QUEUES_PER_CALL } from "../domain/limits.ts";
import type { Message } from "../domain/message.ts";
import type { Queue } from "../domain/queue.ts";
import { isRefusal, type Refusal, refuse } from "../domain/refusal.ts";
import type { SessionRef } from "../domain/session.ts";
import type { Xid } from "../domain/xid.ts";
import { Unavailable } from "../store/port.ts";
import type { Context } from "./context.ts";
import { enqueueInBranch } from "./dtx/enqueue.ts";
import { putLarge } from "./dtx/put-large.ts";
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

/** What every call that puts messages says beside where they go. */
export interface Putting {
  readonly messages: readonly Message[];
  readonly session: SessionRef | undefined;
  readonly xid: Xid | undefined;
  readonly idempotency: Idempotency | undefined;
}

/** A queue and what goes there, in the order given. */
export interface Target {
  readonly queue: Queue;
  readonly messages: readonly Message[];
}

/** What is put, once it is known where. */
export interface Put {
  /** All of the call's, those that go nowhere included. */
  readonly messages: readonly Message[];
  /** Each queue once. */
  readonly targets: readonly Target[];
  readonly session: SessionRef | undefined;
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

/** Where a call's messages go. */
export type Routed = Pick<Put, "messages" | "targets">;

/** How often a call is routed anew because a queue was deleted meanwhile. */
const ROUNDS = 20;

/**
 * Puts messages where `find` says, all or nothing, in the order given; in a branch they wait there for its commit. `find` is
 * asked again, for what is there now (`fresh`), when a queue that it named is gone. `whenPut` is told once it is done, not
 * when a repeated request is only told again.
 */
export const put = async (
  context: Context,
  call: Putting,
  find: (fresh: boolean) => Promise<Routed | Refusal>,
  whenPut: (routed: Routed) => Promise<void> = async () => {},
): Promise<EnqueueAnswer | Refusal> => {
  for (let round = 0; round < ROUNDS; round++) {
    const [fenced, routed, known] = await Promise.all([
      // In a branch the fence is part of the branch's own reading.
      call.xid === undefined && round === 0 ? fenceCall(context, call.session) : undefined,
      find(round > 0),
      call.idempotency && findAnswer(context, call.idempotency),
    ]);
    // A repeated request is told what the first was told, whatever has happened since.
    if (known !== undefined) return known;
    if (fenced !== undefined) return fenced;
    if (isRefusal(routed)) {
      return call.xid === undefined ? routed : ((await fenceCall(context, call.session)) ?? routed);
    }
    if (deduplicationsOf(routed) > DEDUPLICATIONS_PER_CALL) {
      return refuse("invalid-argument", `a call has at most ${DEDUPLICATIONS_PER_CALL} deduplication ids × queues`);
    }
    if (routed.targets.length > QUEUES_PER_CALL) {
      return refuse(
        "invalid-argument",
        `a call reaches ${routed.targets.length} queues; at most ${QUEUES_PER_CALL} may be`,
      );
    }
    if (answerBytes(routed) > ANSWER_BYTES) {
      return refuse(
        "invalid-argument",
        "the answer would be too long: send fewer messages to so many queues in a call",
      );
    }
    const answer = await putThere(context, call, routed);
    if (answer === "gone") continue;
    if (!isRefusal(answer)) await whenPut(routed);
    return answer;
  }
  throw new Unavailable("the queues change at every attempt");
};

const putThere = async (
  context: Context,
  { session, xid, idempotency }: Putting,
  routed: Routed,
): Promise<EnqueueAnswer | Refusal | "gone"> => {
  const there = { ...routed, session, idempotency };
  const answer = xid === undefined ? await putNow(context, there) : await enqueueInBranch(context, there, xid);
  if (answer === "gone" || !isRefusal(answer) || idempotency === undefined) return answer;
  return (await findAnswer(context, idempotency)) ?? answer;
};

const putNow = async (context: Context, there: Put): Promise<EnqueueAnswer | Refusal | "gone"> => {
  const answer = await enqueueNow(context, there);
  return answer === "large" ? putLarge(context, there) : answer;
};

/** Of one message and of one of its queues in the answer, beside what is counted: names of fields, a sequence. */
const MESSAGE_FORM_BYTES = 60;
const QUEUE_FORM_BYTES = 50;

/** The most that the answer may be long. Ids are escaped in it, and longer than their characters then. */
const answerBytes = ({ messages, targets }: Routed): number => {
  const ids = messages.map(({ properties: { messageId } }) => JSON.stringify(messageId ?? "").length * 3);
  const copies = targets.map(({ queue, messages: own }) => own.length * (queue.name.length + QUEUE_FORM_BYTES));
  return [...ids, ...copies].reduce((sum, bytes) => sum + bytes, messages.length * MESSAGE_FORM_BYTES);
};

const deduplicationsOf = ({ targets }: Routed): number =>
  targets.flatMap(({ messages }) => messages).filter(({ properties }) => properties.deduplicationId !== undefined)
    .length;
