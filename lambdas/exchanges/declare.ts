import { sendCommand } from "../../shared/commands/asynchronous/send-command.ts";
import { declareExchange } from "../../shared/commands/exchanges/declare.ts";
import { openCall } from "../../shared/config.ts";
import { isRefusal } from "../../shared/domain/refusal.ts";
import { resultForm, sentForm } from "../../shared/edge/result-form.ts";
import { route } from "../../shared/edge/route.ts";
import { exchangeBody } from "../../shared/edge/schemas/exchanges.ts";

export const handler = route(openCall, { path: ["exchange"], body: exchangeBody }, async (context, call) => {
  const { body: settings, asyncIn: session } = call;
  const exchange = call.name("exchange");
  if (session !== undefined) {
    return sentForm(await sendCommand(context, { session, request: { kind: "declare-exchange", exchange, settings } }));
  }
  const declared = await declareExchange(context, exchange, settings);
  if (isRefusal(declared)) return declared;
  const { type, alternateExchange } = declared.exchange;
  return resultForm({ kind: "exchange-declared", exchange, type, alternateExchange, isNew: declared.isNew });
});
