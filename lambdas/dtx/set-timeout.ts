import { changeTimeout } from "../../shared/commands/dtx/timeout.ts";
import { openCall } from "../../shared/config.ts";
import { isRefusal } from "../../shared/domain/refusal.ts";
import { answer, route } from "../../shared/edge/route.ts";
import { timeoutBody } from "../../shared/edge/schemas/dtx.ts";

export const handler = route(openCall, { path: ["xid"], body: timeoutBody }, async (context, call) => {
  const timeoutSeconds = await changeTimeout(context, call.branch(), call.session, call.body.timeoutSeconds);
  return isRefusal(timeoutSeconds) ? timeoutSeconds : answer(200, { timeoutSeconds });
});
