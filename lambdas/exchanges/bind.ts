import { sendCommand } from "../../shared/commands/asynchronous/send-command.ts";
import { bind } from "../../shared/commands/exchanges/bind.ts";
import { openCall } from "../../shared/config.ts";
import { isRefusal } from "../../shared/domain/refusal.ts";
import { resultForm, sentForm } from "../../shared/edge/result-form.ts";
import { route } from "../../shared/edge/route.ts";
import { bindBody } from "../../shared/edge/schemas/exchanges.ts";

export const handler = route(openCall, { path: ["exchange"], body: bindBody }, async (context, call) => {
  const { queue, bindingKey: key, arguments: given } = call.body;
  const binding = { exchange: call.name("exchange"), queue, key };
  const session = call.asyncIn;
  if (session !== undefined) {
    return sentForm(await sendCommand(context, { session, request: { kind: "bind", binding, arguments: given } }));
  }
  const bound = await bind(context, { ...binding, arguments: given });
  return isRefusal(bound) ? bound : resultForm({ kind: "bound", binding, arguments: given, isNew: bound.isNew });
});
