import { enqueue, requestHash } from "../../shared/commands/enqueue.ts";
import { openCall } from "../../shared/config.ts";
import { isRefusal } from "../../shared/domain/refusal.ts";
import { answer, route } from "../../shared/edge/route.ts";
import { enqueueBody, messagesOf } from "../../shared/edge/schemas/messages.ts";

export const handler = route(openCall, { path: ["queue"], body: enqueueBody }, async (context, call) => {
  const messages = messagesOf(call.body.messages);
  if (isRefusal(messages)) return messages;
  const { session, xid, idempotencyKey: key, principal } = call;
  const hash = requestHash(call.method, call.rawPath, call.rawBody, session?.name ?? "", xid ?? "");
  const idempotency = key === undefined ? undefined : { principal, key, hash };
  const result = await enqueue(context, { queue: call.name("queue"), messages, session, xid, idempotency });
  return isRefusal(result) ? result : answer(201, result);
});
