import { sendCommand } from "../../shared/commands/asynchronous/send-command.ts";
import { unbind } from "../../shared/commands/exchanges/unbind.ts";
import { openCall } from "../../shared/config.ts";
import { sentForm } from "../../shared/edge/result-form.ts";
import { answer, route } from "../../shared/edge/route.ts";
import { unbindQuery } from "../../shared/edge/schemas/exchanges.ts";

export const handler = route(openCall, { path: ["exchange"], query: unbindQuery }, async (context, call) => {
  const { queue, bindingKey: key } = call.query;
  const binding = { exchange: call.name("exchange"), queue, key };
  const session = call.asyncIn;
  if (session !== undefined) {
    return sentForm(await sendCommand(context, { session, request: { kind: "unbind", binding } }));
  }
  return (await unbind(context, binding)) ?? answer(204);
});
