import { listCompletions } from "../../shared/commands/asynchronous/completions.ts";
import { openCall } from "../../shared/config.ts";
import { isRefusal } from "../../shared/domain/refusal.ts";
import { completionBytes, completionForm } from "../../shared/edge/result-form.ts";
import { answer, route } from "../../shared/edge/route.ts";
import { completionsQuery } from "../../shared/edge/schemas/sessions.ts";

export const handler = route(openCall, { path: ["session"], query: completionsQuery }, async (context, call) => {
  const { after, waitSeconds } = call.query;
  const found = await listCompletions(context, call.name("session"), after, waitSeconds, completionBytes);
  if (isRefusal(found)) return found;
  const completions = found.completions.map(completionForm);
  return answer(200, { completions, completedThrough: String(found.completedThrough) });
});
