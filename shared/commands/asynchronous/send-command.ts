import type { Request } from "../../domain/command.ts";
import type { EnqueueAnswer } from "../../domain/enqueued.ts";
import type { Message } from "../../domain/message.ts";
import { isRefusal, type Refusal } from "../../domain/refusal.ts";
import type { SessionRef } from "../../domain/session.ts";
import { Unavailable } from "../../store/port.ts";
import { withIds } from "../by-durability.ts";
import type { Context } from "../context.ts";
import { type Deferred, findAnswer, type Idempotency, rememberAnswer } from "../idempotency.ts";
import { newMessageIdBase } from "../new-run.ts";
import { toldAgain } from "../put-behind.ts";
import { storeCommand } from "./store-command.ts";

export interface Sending {
  readonly session: SessionRef;
  readonly request: Request;
  readonly messages?: readonly Message[];
  readonly idempotency?: Idempotency | undefined;
}

/** Stores a command that completes by itself, and answers its id; a repeated request is told what the first one was. */
export const sendCommand = async (
  context: Context,
  { session, request, messages = [], idempotency }: Sending,
): Promise<Deferred | EnqueueAnswer | Refusal> => {
  const known = idempotency && (await findAnswer(context, idempotency));
  if (known !== undefined) return toldAgain(context, { session, idempotency }, known);
  const stored = await storeCommand(context, {
    session,
    audience: "session",
    request,
    messages: withIds({ messages, targets: [] }, newMessageIdBase()).messages,
    ...(idempotency !== undefined && {
      remember: (commandId) => rememberAnswer(idempotency, { commandId }, context.now()),
    }),
  });
  if (stored !== "known") return isRefusal(stored) ? stored : { commandId: stored.id };
  const twin = idempotency && (await findAnswer(context, idempotency));
  if (twin === undefined) throw new Unavailable("the same request was just given up");
  return toldAgain(context, { session, idempotency }, twin);
};
