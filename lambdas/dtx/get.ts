import { getBranch } from "../../shared/commands/dtx/get.ts";
import { openCall } from "../../shared/config.ts";
import { isRefusal } from "../../shared/domain/refusal.ts";
import { branchForm, outcomeForm } from "../../shared/edge/branch-form.ts";
import { answer, route } from "../../shared/edge/route.ts";

export const handler = route(openCall, { path: ["xid"] }, async (context, call) => {
  const xid = call.branch();
  const view = await getBranch(context, xid);
  if (isRefusal(view)) return view;
  return answer(200, "branch" in view ? branchForm(view.branch, view.operations) : outcomeForm(xid, view.outcome));
});
