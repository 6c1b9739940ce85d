import { startBranch } from "../../shared/commands/dtx/start.ts";
import { openCall } from "../../shared/config.ts";
import { isRefusal } from "../../shared/domain/refusal.ts";
import { answer, route } from "../../shared/edge/route.ts";
import { startBody } from "../../shared/edge/schemas/dtx.ts";

export const handler = route(openCall, { path: ["xid"], body: startBody }, async (context, call) => {
  const result = await startBranch(context, call.branch(), call.session, call.body);
  return isRefusal(result) ? result : answer(200, result);
});
