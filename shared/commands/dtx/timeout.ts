import { timeoutOrDefault } from "../../domain/branch.ts";
import { isRefusal, type Refusal } from "../../domain/refusal.ts";
import type { SessionRef } from "../../domain/session.ts";
import { setTimeout, unknownBranch } from "../../domain/verb.ts";
import type { Xid } from "../../domain/xid.ts";
import type { Context } from "../context.ts";
import { loadBranch } from "./load.ts";
import { perform } from "./perform.ts";

/** A branch's timeout, in seconds. */
export const getTimeout = async (context: Context, xid: Xid): Promise<number | Refusal> =>
  (await loadBranch(context, xid))?.timeoutSeconds ?? unknownBranch(xid);

/** Sets it, and restarts the clock of a branch that has one running; 0 is the default. The timeout in force, in seconds. */
export const changeTimeout = async (
  context: Context,
  xid: Xid,
  session: SessionRef | undefined,
  timeoutSeconds: number,
): Promise<number | Refusal> => {
  const answer = await perform(context, {
    xid,
    session,
    decide: (branch) => setTimeout(branch, timeoutSeconds, context.now()),
    onUnknown: () => unknownBranch(xid),
  });
  return isRefusal(answer) ? answer : timeoutOrDefault(timeoutSeconds);
};
