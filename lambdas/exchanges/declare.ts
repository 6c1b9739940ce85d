import { declareExchange } from "../../shared/commands/exchanges/declare.ts";
import { openCall } from "../../shared/config.ts";
import { isRefusal } from "../../shared/domain/refusal.ts";
import { answer, route } from "../../shared/edge/route.ts";
import { exchangeBody } from "../../shared/edge/schemas/exchanges.ts";

export const handler = route(openCall, { path: ["exchange"], body: exchangeBody }, async (context, call) => {
  const declared = await declareExchange(context, call.name("exchange"), call.body);
  if (isRefusal(declared)) return declared;
  const { name, type, alternateExchange } = declared.exchange;
  return answer(declared.isNew ? 201 : 200, { exchange: name, type, alternateExchange });
});
