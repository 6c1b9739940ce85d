import { release } from "../../shared/commands/deliveries/release.ts";
import { openCall } from "../../shared/config.ts";
import { isRefusal } from "../../shared/domain/refusal.ts";
import { answer, route } from "../../shared/edge/route.ts";
import { outcomesForm, releaseBody } from "../../shared/edge/schemas/deliveries.ts";

export const handler = route(openCall, { body: releaseBody }, async (context, call) => {
  const { session, xid } = call;
  const deliveries = call.body.deliveryIds;
  const outcomes = await release(context, { deliveries, session, xid }, call.body.delaySeconds, call.body.reason);
  return isRefusal(outcomes) ? outcomes : answer(200, outcomesForm(deliveries, outcomes, "released"));
});
