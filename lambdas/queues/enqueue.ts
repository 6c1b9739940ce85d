import { sendCommand } from "../../shared/commands/asynchronous/send-command.ts";
import { enqueue, requestHash } from "../../shared/commands/enqueue.ts";
import { openCall } from "../../shared/config.ts";
import { isRefusal } from "../../shared/domain/refusal.ts";
import { sentForm } from "../../shared/edge/result-form.ts";
import { route } from "../../shared/edge/route.ts";
import { enqueueBody, messagesOf } from "../../shared/edge/schemas/messages.ts";

export const handler = route(openCall, { path: ["queue"], body: enqueueBody }, async (context, call) => {
  const messages = messagesOf(call.body.messages);
  if (isRefusal(messages)) return messages;
  const { session, xid, idempotencyKey: key, principal, asyncIn } = call;
  const hash = requestHash(call.method, call.rawPath, call.rawBody, session?.name ?? "", xid ?? "");
  const idempotency = key === undefined ? undefined : { principal, key, hash };
  const queue = call.name("queue");
  if (asyncIn === undefined) return sentForm(await enqueue(context, { queue, messages, session, xid, idempotency }));
  const request = { kind: "enqueue", queue } as const;
  return sentForm(await sendCommand(context, { session: asyncIn, request, messages, idempotency }));
});
