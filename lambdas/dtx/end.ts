import { endBranch } from "../../shared/commands/dtx/end.ts";
import { openCall } from "../../shared/config.ts";
import { isRefusal } from "../../shared/domain/refusal.ts";
import { answer, route } from "../../shared/edge/route.ts";
import { endBody } from "../../shared/edge/schemas/dtx.ts";

export const handler = route(openCall, { path: ["xid"], body: endBody }, async (context, call) => {
  const result = await endBranch(context, call.branch(), call.session, call.body);
  return isRefusal(result) ? result : answer(200, result);
});
