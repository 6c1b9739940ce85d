import { reject } from "../../shared/commands/deliveries/reject.ts";
import { openCall } from "../../shared/config.ts";
import { isRefusal } from "../../shared/domain/refusal.ts";
import { answer, route } from "../../shared/edge/route.ts";
import { outcomesForm, rejectBody } from "../../shared/edge/schemas/deliveries.ts";

export const handler = route(openCall, { body: rejectBody }, async (context, call) => {
  const { session, xid } = call;
  const deliveries = call.body.deliveryIds;
  const outcomes = await reject(context, { deliveries, session, xid }, call.body.reason);
  return isRefusal(outcomes) ? outcomes : answer(200, outcomesForm(deliveries, outcomes, "rejected"));
});
