import type { Refusal } from "../../domain/refusal.ts";
import type { SessionRef } from "../../domain/session.ts";
import { forget, unknownBranch } from "../../domain/verb.ts";
import type { Xid } from "../../domain/xid.ts";
import type { Context } from "../context.ts";
import { perform, type VerbAnswer } from "./perform.ts";

/** Takes a heuristically completed branch off the list. */
export const forgetBranch = (
  context: Context,
  xid: Xid,
  session: SessionRef | undefined,
): Promise<VerbAnswer | Refusal> =>
  perform(context, { xid, session, decide: forget, onUnknown: () => unknownBranch(xid) });
