import { requestHash } from "../../shared/commands/enqueue.ts";
import { publish } from "../../shared/commands/exchanges/publish.ts";
import { openCall } from "../../shared/config.ts";
import { isRefusal } from "../../shared/domain/refusal.ts";
import { answer, route } from "../../shared/edge/route.ts";
import { publishBody } from "../../shared/edge/schemas/exchanges.ts";
import { messagesOf } from "../../shared/edge/schemas/messages.ts";

export const handler = route(openCall, { path: ["exchange"], body: publishBody }, async (context, call) => {
  const messages = messagesOf(call.body.messages);
  if (isRefusal(messages)) return messages;
  const { routingKey, mandatory } = call.body;
  const { session, xid, idempotencyKey: key, principal } = call;
  const hash = requestHash(call.method, call.rawPath, call.rawBody, session?.name ?? "", xid ?? "");
  const idempotency = key === undefined ? undefined : { principal, key, hash };
  const exchange = call.name("exchange");
  const result = await publish(context, { exchange, routingKey, mandatory, messages, session, xid, idempotency });
  return isRefusal(result) ? result : answer(201, result);
});
