import { commitBranch } from "../../shared/commands/dtx/commit.ts";
import { openCall } from "../../shared/config.ts";
import { isRefusal } from "../../shared/domain/refusal.ts";
import { answer, route } from "../../shared/edge/route.ts";
import { commitBody } from "../../shared/edge/schemas/dtx.ts";

export const handler = route(openCall, { path: ["xid"], body: commitBody }, async (context, call) => {
  const result = await commitBranch(context, call.branch(), call.session, call.body.onePhase);
  return isRefusal(result) ? result : answer(200, result);
});
