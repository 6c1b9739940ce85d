import { unbind } from "../../shared/commands/exchanges/unbind.ts";
import { openCall } from "../../shared/config.ts";
import { answer, route } from "../../shared/edge/route.ts";
import { unbindQuery } from "../../shared/edge/schemas/exchanges.ts";

export const handler = route(openCall, { path: ["exchange"], query: unbindQuery }, async (context, call) => {
  const { queue, bindingKey } = call.query;
  return (await unbind(context, { exchange: call.name("exchange"), queue, key: bindingKey })) ?? answer(204);
});
