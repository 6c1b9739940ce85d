import { sendCommand } from "../../shared/commands/asynchronous/send-command.ts";
import { requestHash } from "../../shared/commands/enqueue.ts";
import { publish } from "../../shared/commands/exchanges/publish.ts";
import { openCall } from "../../shared/config.ts";
import { isRefusal } from "../../shared/domain/refusal.ts";
import { sentForm } from "../../shared/edge/result-form.ts";
import { route } from "../../shared/edge/route.ts";
import { publishBody } from "../../shared/edge/schemas/exchanges.ts";
import { messagesOf } from "../../shared/edge/schemas/messages.ts";

export const handler = route(openCall, { path: ["exchange"], body: publishBody }, async (context, call) => {
  const messages = messagesOf(call.body.messages);
  if (isRefusal(messages)) return messages;
  const { session, xid, idempotencyKey: key, principal, asyncIn } = call;
  const hash = requestHash(call.method, call.rawPath, call.rawBody, session?.name ?? "", xid ?? "");
  const idempotency = key === undefined ? undefined : { principal, key, hash };
  const { routingKey, mandatory } = call.body;
  const to = { exchange: call.name("exchange"), routingKey, mandatory };
  if (asyncIn === undefined) return sentForm(await publish(context, { ...to, messages, session, xid, idempotency }));
  const request = { kind: "publish", ...to } as const;
  return sentForm(await sendCommand(context, { session: asyncIn, request, messages, idempotency }));
});
