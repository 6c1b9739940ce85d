import { sendCommand } from "../../shared/commands/asynchronous/send-command.ts";
import { reject } from "../../shared/commands/deliveries/reject.ts";
import { openCall } from "../../shared/config.ts";
import { isRefusal } from "../../shared/domain/refusal.ts";
import { sentForm } from "../../shared/edge/result-form.ts";
import { answer, route } from "../../shared/edge/route.ts";
import { outcomesForm, rejectBody, settleRequest } from "../../shared/edge/schemas/deliveries.ts";

export const handler = route(openCall, { body: rejectBody }, async (context, call) => {
  const { session, xid, asyncIn } = call;
  if (asyncIn !== undefined) {
    return sentForm(await sendCommand(context, { session: asyncIn, request: settleRequest("reject", call.body) }));
  }
  const deliveries = call.body.deliveryIds;
  const outcomes = await reject(context, { deliveries, session, xid }, call.body.reason);
  return isRefusal(outcomes) ? outcomes : answer(200, outcomesForm(deliveries, outcomes, "rejected"));
});
