import { decideBranch } from "../../shared/commands/dtx/heuristic.ts";
import { openCall } from "../../shared/config.ts";
import { isRefusal } from "../../shared/domain/refusal.ts";
import { answer, route } from "../../shared/edge/route.ts";
import { heuristicBody } from "../../shared/edge/schemas/dtx.ts";

export const handler = route(openCall, { path: ["xid"], body: heuristicBody }, async (context, call) => {
  const result = await decideBranch(context, call.branch(), call.session, call.body.outcome, call.body.reason);
  return isRefusal(result) ? result : answer(200, result);
});
