import { sendCommand } from "../../shared/commands/asynchronous/send-command.ts";
import { accept } from "../../shared/commands/deliveries/accept.ts";
import { openCall } from "../../shared/config.ts";
import { isRefusal } from "../../shared/domain/refusal.ts";
import { sentForm } from "../../shared/edge/result-form.ts";
import { answer, route } from "../../shared/edge/route.ts";
import { acceptBody, outcomesForm, settleRequest } from "../../shared/edge/schemas/deliveries.ts";

export const handler = route(openCall, { body: acceptBody }, async (context, call) => {
  const { session, xid, asyncIn } = call;
  if (asyncIn !== undefined) {
    return sentForm(await sendCommand(context, { session: asyncIn, request: settleRequest("accept", call.body) }));
  }
  const deliveries = call.body.deliveryIds;
  const outcomes = await accept(context, { deliveries, session, xid });
  return isRefusal(outcomes) ? outcomes : answer(200, outcomesForm(deliveries, outcomes, "accepted"));
});
