import { extend } from "../../shared/commands/deliveries/extend.ts";
import { openCall } from "../../shared/config.ts";
import { isRefusal } from "../../shared/domain/refusal.ts";
import { answer, route } from "../../shared/edge/route.ts";
import { extendBody, outcomesForm } from "../../shared/edge/schemas/deliveries.ts";

export const handler = route(openCall, { body: extendBody }, async (context, call) => {
  const { session, xid } = call;
  const deliveries = call.body.deliveryIds;
  const outcomes = await extend(context, { deliveries, session, xid }, call.body.leaseSeconds);
  return isRefusal(outcomes) ? outcomes : answer(200, outcomesForm(deliveries, outcomes, "extended"));
});
