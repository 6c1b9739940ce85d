import { sendCommand } from "../../shared/commands/asynchronous/send-command.ts";
import { release } from "../../shared/commands/deliveries/release.ts";
import { openCall } from "../../shared/config.ts";
import { isRefusal } from "../../shared/domain/refusal.ts";
import { sentForm } from "../../shared/edge/result-form.ts";
import { answer, route } from "../../shared/edge/route.ts";
import { outcomesForm, releaseBody, settleRequest } from "../../shared/edge/schemas/deliveries.ts";

export const handler = route(openCall, { body: releaseBody }, async (context, call) => {
  const { session, xid, asyncIn } = call;
  if (asyncIn !== undefined) {
    return sentForm(await sendCommand(context, { session: asyncIn, request: settleRequest("release", call.body) }));
  }
  const deliveries = call.body.deliveryIds;
  const outcomes = await release(context, { deliveries, session, xid }, call.body.delaySeconds, call.body.reason);
  return isRefusal(outcomes) ? outcomes : answer(200, outcomesForm(deliveries, outcomes, "released"));
});
