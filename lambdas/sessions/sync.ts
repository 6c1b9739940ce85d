import { sync } from "../../shared/commands/asynchronous/sync.ts";
import { openCall } from "../../shared/config.ts";
import { isRefusal } from "../../shared/domain/refusal.ts";
import { answer, route } from "../../shared/edge/route.ts";
import { syncBody } from "../../shared/edge/schemas/sessions.ts";
import { epochOfPath } from "../../shared/edge/session-form.ts";

export const handler = route(openCall, { path: ["session"], body: syncBody }, async (context, call) => {
  const name = call.name("session");
  const synced = await sync(context, name, epochOfPath(name, call), call.body.waitSeconds);
  if (isRefusal(synced)) return synced;
  const { through, open, hasMore } = synced;
  if (open.length === 0) return answer(200, { completedThrough: String(through), open: [] });
  return answer(202, { completedThrough: String((open[0] ?? 1) - 1), open: open.map(String), more: hasMore });
});
