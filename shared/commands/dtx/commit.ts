import type { Refusal } from "../../domain/refusal.ts";
import type { SessionRef } from "../../domain/session.ts";
import { commit } from "../../domain/verb.ts";
import type { Xid } from "../../domain/xid.ts";
import type { Context } from "../context.ts";
import { perform, type VerbAnswer } from "./perform.ts";
import { answerRemembered } from "./remembered.ts";

/** The second phase, or both at once: what was added stands on its queues, what was removed is settled. */
export const commitBranch = (
  context: Context,
  xid: Xid,
  session: SessionRef | undefined,
  onePhase: boolean,
): Promise<VerbAnswer | Refusal> =>
  perform(context, {
    xid,
    session,
    decide: (branch) => commit(branch, onePhase),
    onUnknown: () => answerRemembered(context, xid, "commit"),
  });
