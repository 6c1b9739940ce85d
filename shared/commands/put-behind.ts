import type { EnqueueAnswer } from "../domain/enqueued.ts";
import { isRefusal, type Refusal } from "../domain/refusal.ts";
import type { SessionRef } from "../domain/session.ts";
import { forgetIdempotency } from "../records/remembered.ts";
import { Unavailable } from "../store/port.ts";
import { awaitCommand } from "./asynchronous/await-command.ts";
import { storeCommand } from "./asynchronous/store-command.ts";
import { byDurability, withIds } from "./by-durability.ts";
import type { Context } from "./context.ts";
import { areThere, type HandedOn, handedOnTo, lookUp } from "./handed-on.ts";
import { type Deferred, findAnswer, isDeferred, rememberAnswer } from "./idempotency.ts";
import { newMessageIdBase } from "./new-run.ts";
import type { Putting, Routed, Target } from "./put.ts";
import { answerOf } from "./put-answer.ts";

/**
 * Puts behind what the session has sent: the call becomes a command of it. When something must be persisted the answer is
 * what that comes to; otherwise it is complete as soon as it stands in line. `routed`: as things are; the command is routed
 * when it runs.
 */
export const putBehind = async (
  context: Context,
  call: Putting,
  session: SessionRef,
  routed: Routed | Refusal,
): Promise<EnqueueAnswer | Deferred | Refusal> => {
  const { idempotency, request } = call;
  const messages = isRefusal(routed) ? call.messages : routed.messages;
  const there = withIds({ messages, targets: isRefusal(routed) ? [] : routed.targets }, newMessageIdBase());
  const isAwaited = isRefusal(routed) || routed.targets.length === 0 || byDurability(routed, true).isPersisted;
  const handedOn = isAwaited ? [] : await lookUpNow(context, there.targets);
  const answer: EnqueueAnswer = {
    ...answerOf(
      there.messages,
      handedOn.map(({ became }) => became),
      true,
    ),
    ...(!isAwaited && { isHandedOn: true }),
  };
  const stored = await storeCommand(context, {
    session,
    audience: isAwaited ? "call" : "nobody",
    request,
    messages: there.messages,
    ...(idempotency !== undefined && {
      remember: (commandId) =>
        rememberAnswer(idempotency, isAwaited ? { commandId, isAwaited } : answer, context.now()),
    }),
  });
  if (stored === "known") {
    const known = idempotency && (await findAnswer(context, idempotency));
    if (known === undefined) throw new Unavailable("the same request was just given up");
    return toldAgain(context, call, known);
  }
  if (isRefusal(stored)) return stored;
  return isAwaited ? toldAgain(context, call, { commandId: stored.id, isAwaited }) : answer;
};

/** Of queues that are gone nothing is known: the command finds those of its time. */
const lookUpNow = async (context: Context, targets: readonly Target[]): Promise<readonly HandedOn[]> => {
  const found = await lookUp(context, targets);
  const isKnown = found.some(({ became }) => became.duplicates.size > 0);
  return isKnown && !(await areThere(context, targets)) ? targets.map((target) => handedOnTo(target)) : found;
};

/** An answer as its caller hears it: one that a command is still to come to is waited for. */
export const toldAgain = async (
  context: Context,
  { session, idempotency }: Pick<Putting, "session" | "idempotency">,
  known: EnqueueAnswer | Deferred | Refusal,
): Promise<EnqueueAnswer | Deferred | Refusal> => {
  if (isRefusal(known) || !isDeferred(known) || known.isAwaited !== true || session === undefined) return known;
  const forget = idempotency === undefined ? [] : [forgetIdempotency(idempotency.principal, idempotency.key)];
  const outcome = await awaitCommand(context, session.name, known.commandId, forget);
  if (isRefusal(outcome)) return outcome;
  if (outcome.kind !== "enqueued") throw new Error(`an enqueue came to ${outcome.kind}`);
  return outcome.answer;
};
