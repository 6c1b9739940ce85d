import { sendCommand } from "../../shared/commands/asynchronous/send-command.ts";
import { deleteExchange } from "../../shared/commands/exchanges/delete.ts";
import { openCall } from "../../shared/config.ts";
import { sentForm } from "../../shared/edge/result-form.ts";
import { answer, route } from "../../shared/edge/route.ts";

export const handler = route(openCall, { path: ["exchange"] }, async (context, call) => {
  const exchange = call.name("exchange");
  const session = call.asyncIn;
  if (session !== undefined) {
    return sentForm(await sendCommand(context, { session, request: { kind: "delete-exchange", exchange } }));
  }
  return (await deleteExchange(context, exchange)) ?? answer(204);
});
