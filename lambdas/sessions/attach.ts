import { attachSession } from "../../shared/commands/sessions/attach.ts";
import { keepAlive } from "../../shared/commands/sessions/keep-alive.ts";
import { openCall } from "../../shared/config.ts";
import { isRefusal } from "../../shared/domain/refusal.ts";
import { recoveryForm } from "../../shared/edge/recovery-form.ts";
import { answer, route } from "../../shared/edge/route.ts";
import { sessionBody } from "../../shared/edge/schemas/sessions.ts";
import { epochOfPath, sessionForm } from "../../shared/edge/session-form.ts";

export const handler = route(openCall, { path: ["session"], body: sessionBody }, async (context, call) => {
  const name = call.name("session");
  const { timeoutSeconds } = call.body;
  const epoch = epochOfPath(name, call);
  if (epoch !== undefined) {
    const session = await keepAlive(context, { name, epoch }, timeoutSeconds);
    return isRefusal(session) ? session : answer(200, sessionForm(session));
  }
  const attached = await attachSession(context, name, timeoutSeconds);
  if (isRefusal(attached)) return attached;
  const { session, isResumed: resumed, recovery } = attached;
  return answer(resumed ? 200 : 201, { ...sessionForm(session), resumed, recovery: recoveryForm(recovery) });
});
