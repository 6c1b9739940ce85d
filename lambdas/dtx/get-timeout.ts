import { getTimeout } from "../../shared/commands/dtx/timeout.ts";
import { openCall } from "../../shared/config.ts";
import { isRefusal } from "../../shared/domain/refusal.ts";
import { answer, route } from "../../shared/edge/route.ts";

export const handler = route(openCall, { path: ["xid"] }, async (context, call) => {
  const timeoutSeconds = await getTimeout(context, call.branch());
  return isRefusal(timeoutSeconds) ? timeoutSeconds : answer(200, { timeoutSeconds });
});
