import { bind } from "../../shared/commands/exchanges/bind.ts";
import { openCall } from "../../shared/config.ts";
import { isRefusal } from "../../shared/domain/refusal.ts";
import { answer, route } from "../../shared/edge/route.ts";
import { bindBody } from "../../shared/edge/schemas/exchanges.ts";

export const handler = route(openCall, { path: ["exchange"], body: bindBody }, async (context, call) => {
  const { queue, bindingKey, arguments: given } = call.body;
  const bound = await bind(context, { exchange: call.name("exchange"), queue, key: bindingKey, arguments: given });
  if (isRefusal(bound)) return bound;
  return answer(bound.isNew ? 201 : 200, { exchange: call.name("exchange"), queue, bindingKey, arguments: given });
});
