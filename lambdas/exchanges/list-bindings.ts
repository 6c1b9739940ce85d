import { listBindings } from "../../shared/commands/exchanges/list-bindings.ts";
import { openCall } from "../../shared/config.ts";
import { isRefusal } from "../../shared/domain/refusal.ts";
import { answer, route } from "../../shared/edge/route.ts";
import { bindingsCursor, bindingsQuery } from "../../shared/edge/schemas/exchanges.ts";

export const handler = route(openCall, { path: ["exchange"], query: bindingsQuery }, async (context, call) => {
  const { limit, cursor } = call.query;
  const found = await listBindings(context, call.name("exchange"), { limit, after: cursor });
  if (isRefusal(found)) return found;
  return answer(200, {
    bindings: found.bindings.map(({ queue, key, arguments: given }) => ({
      queue: queue.name,
      bindingKey: key,
      arguments: given,
    })),
    ...(found.next !== undefined && { cursor: bindingsCursor(found.next) }),
  });
});
