import { forgetBranch } from "../../shared/commands/dtx/forget.ts";
import { openCall } from "../../shared/config.ts";
import { isRefusal } from "../../shared/domain/refusal.ts";
import { answer, route } from "../../shared/edge/route.ts";

export const handler = route(openCall, { path: ["xid"] }, async (context, call) => {
  const result = await forgetBranch(context, call.branch(), call.session);
  return isRefusal(result) ? result : answer(204);
});
