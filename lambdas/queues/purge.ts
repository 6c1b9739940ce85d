import { purge } from "../../shared/commands/queues/purge.ts";
import { openCall } from "../../shared/config.ts";
import { isRefusal } from "../../shared/domain/refusal.ts";
import { answer, route } from "../../shared/edge/route.ts";

export const handler = route(openCall, { path: ["queue"] }, async (context, call) => {
  const purged = await purge(context, call.name("queue"));
  return isRefusal(purged) ? purged : answer(200, purged);
});
