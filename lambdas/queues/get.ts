import { getQueue } from "../../shared/commands/queues/get.ts";
import { openCall } from "../../shared/config.ts";
import { isRefusal } from "../../shared/domain/refusal.ts";
import { answer, route } from "../../shared/edge/route.ts";

export const handler = route(openCall, { path: ["queue"] }, async (context, call) => {
  const found = await getQueue(context, call.name("queue"));
  if (isRefusal(found)) return found;
  const { queue, stats } = found;
  return answer(200, { queue: queue.name, ...queue.settings, stats });
});
