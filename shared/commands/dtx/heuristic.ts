import type { Outcome } from "../../domain/branch.ts";
import type { Refusal } from "../../domain/refusal.ts";
import type { SessionRef } from "../../domain/session.ts";
import { decide, unknownBranch } from "../../domain/verb.ts";
import type { Xid } from "../../domain/xid.ts";
import type { Context } from "../context.ts";
import { perform, type VerbAnswer } from "./perform.ts";

/** An operator's decision on a prepared branch, applied at once; it stays listed until it is forgotten. */
export const decideBranch = (
  context: Context,
  xid: Xid,
  session: SessionRef | undefined,
  outcome: Outcome,
  reason: string,
): Promise<VerbAnswer | Refusal> =>
  perform(context, {
    xid,
    session,
    decide: (branch) => decide(branch, outcome, reason),
    onUnknown: () => unknownBranch(xid),
  });
