import { acquire } from "../../shared/commands/acquire.ts";
import { openCall } from "../../shared/config.ts";
import { isRefusal } from "../../shared/domain/refusal.ts";
import { answer, route } from "../../shared/edge/route.ts";
import { acquireBody, deliveryForm } from "../../shared/edge/schemas/messages.ts";

export const handler = route(openCall, { path: ["queue"], body: acquireBody }, async (context, call) => {
  const { maxMessages, waitSeconds, leaseSeconds, settle } = call.body;
  const { session, xid } = call;
  const queue = call.name("queue");
  const delivered = await acquire(context, { queue, maxMessages, waitSeconds, leaseSeconds, settle, session, xid });
  return isRefusal(delivered) ? delivered : answer(200, { deliveries: delivered.map(deliveryForm) });
});
