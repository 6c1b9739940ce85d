import type { Refusal } from "../../domain/refusal.ts";
import type { SessionRef } from "../../domain/session.ts";
import { rollback } from "../../domain/verb.ts";
import type { Xid } from "../../domain/xid.ts";
import type { Context } from "../context.ts";
import { perform, type VerbAnswer } from "./perform.ts";
import { answerRemembered } from "./remembered.ts";

/** What was added never was; what was removed is back at its place, redelivered. */
export const rollbackBranch = (
  context: Context,
  xid: Xid,
  session: SessionRef | undefined,
): Promise<VerbAnswer | Refusal> =>
  perform(context, {
    xid,
    session,
    decide: rollback,
    onUnknown: () => answerRemembered(context, xid, "rollback"),
  });
