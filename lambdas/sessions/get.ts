import { getSession } from "../../shared/commands/sessions/get.ts";
import { openCall } from "../../shared/config.ts";
import { isRefusal } from "../../shared/domain/refusal.ts";
import { answer, route } from "../../shared/edge/route.ts";
import { sessionForm } from "../../shared/edge/session-form.ts";

export const handler = route(openCall, { path: ["session"] }, async (context, call) => {
  const view = await getSession(context, call.name("session"));
  if (isRefusal(view)) return view;
  const { session, state, branches, openCommands } = view;
  return answer(200, { ...sessionForm(session), state, branches, incompleteCommands: String(openCommands) });
});
