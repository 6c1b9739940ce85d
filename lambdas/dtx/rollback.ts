import { rollbackBranch } from "../../shared/commands/dtx/rollback.ts";
import { openCall } from "../../shared/config.ts";
import { isRefusal } from "../../shared/domain/refusal.ts";
import { answer, route } from "../../shared/edge/route.ts";

export const handler = route(openCall, { path: ["xid"] }, async (context, call) => {
  const result = await rollbackBranch(context, call.branch(), call.session);
  return isRefusal(result) ? result : answer(200, result);
});
