import { detachSession } from "../../shared/commands/sessions/detach.ts";
import { openCall } from "../../shared/config.ts";
import { isRefusal } from "../../shared/domain/refusal.ts";
import { answer, route } from "../../shared/edge/route.ts";
import { epochOfPath } from "../../shared/edge/session-form.ts";

export const handler = route(openCall, { path: ["session"] }, async (context, call) => {
  const name = call.name("session");
  const detached = await detachSession(context, name, epochOfPath(name, call));
  return isRefusal(detached) ? detached : answer(204);
});
