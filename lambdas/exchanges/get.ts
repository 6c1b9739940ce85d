import { getExchange } from "../../shared/commands/exchanges/get.ts";
import { openCall } from "../../shared/config.ts";
import { isRefusal } from "../../shared/domain/refusal.ts";
import { answer, route } from "../../shared/edge/route.ts";

export const handler = route(openCall, { path: ["exchange"] }, async (context, call) => {
  const found = await getExchange(context, call.name("exchange"));
  if (isRefusal(found)) return found;
  const { name, type, alternateExchange } = found.exchange;
  return answer(200, { exchange: name, type, alternateExchange, stats: { unroutable: String(found.unroutable) } });
});
