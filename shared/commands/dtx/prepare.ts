import type { Refusal } from "../../domain/refusal.ts";
import type { SessionRef } from "../../domain/session.ts";
import { prepare, unknownBranch } from "../../domain/verb.ts";
import type { Xid } from "../../domain/xid.ts";
import type { Context } from "../context.ts";
import { perform, type VerbAnswer } from "./perform.ts";

/** The first phase: from XA_OK on, only commit, rollback or an operator decides this branch. */
export const prepareBranch = (
  context: Context,
  xid: Xid,
  session: SessionRef | undefined,
): Promise<VerbAnswer | Refusal> =>
  perform(context, {
    xid,
    session,
    decide: (branch) => prepare(branch, context.now()),
    onUnknown: () => unknownBranch(xid),
  });
