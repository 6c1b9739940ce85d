import type { EnqueueAnswer } from "../domain/enqueued.ts";
import type { Message } from "../domain/message.ts";
import { isRefusal, type Refusal } from "../domain/refusal.ts";
import { Unavailable } from "../store/port.ts";
import { handOn } from "./asynchronous/hand-on.ts";
import { besideOf } from "./beside.ts";
import { byDurability, withIds } from "./by-durability.ts";
import type { Context } from "./context.ts";
import { putLarge } from "./dtx/put-large.ts";
import { enqueueNow } from "./enqueue-now.ts";
import { areThere, type HandedOn, lookUp } from "./handed-on.ts";
import { callId, type Deferred, findAnswer, isDeferred, rememberAnswer } from "./idempotency.ts";
import type { Put, Putting, Routed, Target } from "./put.ts";
import { answerOf } from "./put-answer.ts";
import { putBehind } from "./put-behind.ts";

/**
 * Puts outside a branch, each message on each queue as it is persisted there or not. What is stored is one commit; what need
 * not be is handed to the command queue after it, in order. `gone`: a queue was deleted, and nothing was put.
 */
export const putNow = async (
  context: Context,
  call: Putting,
  unnamed: Routed,
): Promise<EnqueueAnswer | Deferred | Refusal | "gone"> => {
  const { session, asCommand, idempotency } = call;
  const isTransient = byDurability(unnamed, session !== undefined).handedOn.length > 0;
  const id = asCommand ?? callId(idempotency);
  const routed = isTransient ? withIds(unnamed, id) : unnamed;
  const { stored, handedOn: unstored, isPersisted } = byDurability(routed, session !== undefined);
  const isForLine = !isPersisted && stored.length > 0 && asCommand === undefined;
  // Nobody waits for it, but on a queue of strict order it stands in line with what is persisted.
  if (isForLine && session !== undefined) return putBehind(context, call, session, routed);
  // Only where nothing is stored may it be repeated before its answer is remembered.
  const repeatable = idempotency !== undefined && stored.length === 0 ? { id } : undefined;
  const [isThere, handedOn] = await Promise.all([
    areThere(context, unstored),
    lookUp(context, unstored, stored, repeatable),
  ]);
  if (!isThere) return "gone";
  if (stored.length === 0 && handedOn.length > 0) return putNothing(context, call, routed.messages, handedOn, id);
  const answer = await putStored(context, {
    messages: routed.messages,
    targets: stored,
    handedOn,
    session,
    idempotency,
  });
  if (answer === "gone" || isRefusal(answer) || isDeferred(answer)) return answer;
  const targets = targetsOf(handedOn);
  if (asCommand !== undefined) await handOn(context, id, session?.name, targets);
  else await handOnIfPossible(context, id, session?.name, targets);
  return answer;
};

const putStored = async (context: Context, there: Put): Promise<EnqueueAnswer | Deferred | Refusal | "gone"> => {
  const answer = await enqueueNow(context, there);
  return answer === "large" ? putLarge(context, there) : answer;
};

const targetsOf = (handedOn: readonly HandedOn[]): readonly Target[] =>
  handedOn.flatMap(({ target }) => (target === undefined ? [] : [target]));

/** Nothing of it need be stored: it is complete when it is handed on. */
const putNothing = async (
  context: Context,
  { session, idempotency }: Putting,
  messages: readonly Message[],
  handedOn: readonly HandedOn[],
  id: string,
): Promise<EnqueueAnswer | Deferred | Refusal> => {
  const became = handedOn.map((one) => one.became);
  const answer: EnqueueAnswer = { ...answerOf(messages, became, true), isHandedOn: true };
  const targets = targetsOf(handedOn);
  // Of a command: once something is handed on, it must not be given up.
  await context.store.commit(besideOf(context, { kind: "enqueued", answer }, { isHandedOn: targets.length > 0 }));
  await handOn(context, id, session?.name, targets);
  if (idempotency === undefined) return answer;
  // A repetition before this is written hands the same on under the same ids.
  const commit = await context.store.commit([rememberAnswer(idempotency, answer, context.now())]);
  return commit.done ? answer : ((await findAnswer(context, idempotency)) ?? answer);
};

/** What is stored is stored: that the command queue is out of reach may cost the rest, and not a second copy of the whole. */
const handOnIfPossible = async (
  context: Context,
  id: string,
  session: string | undefined,
  targets: readonly Target[],
): Promise<void> => {
  try {
    await handOn(context, id, session, targets);
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error;
  }
};
