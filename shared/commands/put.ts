import type { Request } from "../domain/command.ts";
import type { EnqueueAnswer } from "../domain/enqueued.ts";
import { ANSWER_BYTES, COPIES_BYTES, DEDUPLICATIONS_PER_CALL, QUEUES_PER_CALL } from "../domain/limits.ts";
import type { Message } from "../domain/message.ts";
import type { Queue } from "../domain/queue.ts";
import { isRefusal, type Refusal, refuse, refuseFields } from "../domain/refusal.ts";
import { fence, type SessionRef } from "../domain/session.ts";
import type { Xid } from "../domain/xid.ts";
import { Unavailable } from "../store/port.ts";
import { hasOpen } from "./asynchronous/open-commands.ts";
import type { Context } from "./context.ts";
import { enqueueInBranch } from "./dtx/enqueue.ts";
import type { HandedOn } from "./handed-on.ts";
import { type Deferred, findAnswer, type Idempotency, isDeferred } from "./idempotency.ts";
import { putBehind, toldAgain } from "./put-behind.ts";
import { putNow } from "./put-now.ts";
import { fenceCall, loadSession } from "./sessions/liveness.ts";

/** What every call that puts messages says beside where they go. */
export interface Putting {
  readonly messages: readonly Message[];
  readonly session: SessionRef | undefined;
  readonly xid: Xid | undefined;
  readonly idempotency: Idempotency | undefined;
  /** What is stored when it must go behind commands of its session. */
  readonly request: Request;
  /** Names the command that it is the run of: it was fenced when it was stored, and goes behind nothing any more. */
  readonly asCommand?: string;
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
  /** What the command queue brings to its queues: no part of the commit, but of the answer. */
  readonly handedOn: readonly HandedOn[];
  readonly session: SessionRef | undefined;
  readonly idempotency: Idempotency | undefined;
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
): Promise<EnqueueAnswer | Deferred | Refusal> => {
  for (let round = 0; round < ROUNDS; round++) {
    const [session, routed, known] = await Promise.all([
      // In a branch the fence is part of the branch's own reading.
      round === 0 && mustFence(call) ? loadSession(context, call.session.name) : undefined,
      find(round > 0),
      call.idempotency && findAnswer(context, call.idempotency),
    ]);
    // A repeated request is told what the first was told, whatever has happened since.
    if (known !== undefined) return toldAgain(context, call, known);
    if (round === 0 && mustFence(call)) {
      const fenced = fence(session, call.session, context.now());
      if (fenced !== undefined) return fenced;
      if (await hasOpen(context, session)) {
        // What is refused whatever stands before it is refused now; what the queues say is known when it runs.
        const early = isRefusal(routed) ? undefined : refusalFor(routed);
        return early ?? putBehind(context, call, call.session, routed);
      }
    }
    const refusal = refusalFor(routed);
    if (refusal !== undefined) return inBranch(call) ? ((await fenceCall(context, call.session)) ?? refusal) : refusal;
    if (isRefusal(routed)) throw new Error("a refusal is one");
    const answer = await putThere(context, call, routed);
    // A queue that a kept copy of its settings calls full may be gone by now, or have other limits.
    const mayBeOld =
      round === 0 && !inBranch(call) && isRefusal(answer) && answer.refusal === "resource-limit-exceeded";
    if (answer === "gone" || mayBeOld) continue;
    if (isRefusal(answer) && call.idempotency !== undefined) {
      const twin = await findAnswer(context, call.idempotency);
      return twin === undefined ? answer : toldAgain(context, call, twin);
    }
    if (!isRefusal(answer) && !isDeferred(answer)) await whenPut(routed);
    return isRefusal(answer) ? answer : toldAgain(context, call, answer);
  }
  throw new Unavailable("the queues change at every attempt");
};

const inBranch = ({ xid }: Putting): boolean => xid !== undefined;

const mustFence = (call: Putting): call is Putting & { readonly session: SessionRef } =>
  call.session !== undefined && call.xid === undefined && call.asCommand === undefined;

/** What is wrong with it wherever it goes. */
const refusalFor = (routed: Routed | Refusal): Refusal | undefined => {
  if (isRefusal(routed)) return routed;
  if (deduplicationsOf(routed) > DEDUPLICATIONS_PER_CALL) {
    return refuseMessages(`must have at most ${DEDUPLICATIONS_PER_CALL} deduplication ids × queues`);
  }
  if (routed.targets.length > QUEUES_PER_CALL) {
    return refuseMessages(`must go to at most ${QUEUES_PER_CALL} queues, not to ${routed.targets.length}`);
  }
  if (copiedBytes(routed) > COPIES_BYTES) {
    return refuse("payload-too-large", `the copies for all queues have more than ${COPIES_BYTES} bytes`);
  }
  return answerBytes(routed) > ANSWER_BYTES
    ? refuseMessages("must be fewer to so many queues: the answer would be too long")
    : undefined;
};

const refuseMessages = (message: string): Refusal => refuseFields({ path: "messages", message });

const putThere = (
  context: Context,
  call: Putting,
  routed: Routed,
): Promise<EnqueueAnswer | Deferred | Refusal | "gone"> => {
  const { session, xid, idempotency } = call;
  return xid === undefined
    ? putNow(context, call, routed)
    : enqueueInBranch(context, { ...routed, handedOn: [], session, idempotency }, xid);
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

const copiedBytes = ({ targets }: Routed): number =>
  targets.flatMap(({ messages }) => messages).reduce((sum, { body }) => sum + body.length, 0);

const deduplicationsOf = ({ targets }: Routed): number =>
  targets.flatMap(({ messages }) => messages).filter(({ properties }) => properties.deduplicationId !== undefined)
    .length;
