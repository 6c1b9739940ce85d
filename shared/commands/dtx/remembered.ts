import type { Outcome } from "../../domain/branch.ts";
import { type Refusal, refuse } from "../../domain/refusal.ts";
import { unknownBranch } from "../../domain/verb.ts";
import type { Xid } from "../../domain/xid.ts";
import { outcomeKey } from "../../records/keys.ts";
import { ifInForce, type RememberedOutcome, readOutcome } from "../../records/remembered.ts";
import type { Context } from "../context.ts";
import type { VerbAnswer } from "./perform.ts";

/** What a finished branch became, for 24 h. */
export const loadOutcome = async (context: Context, xid: Xid): Promise<RememberedOutcome | undefined> => {
  const item = ifInForce(await context.store.read(outcomeKey(xid)), context.now());
  return item && readOutcome(item);
};

/** A completing verb on a branch that is gone: the same verb as completed it is answered again, the opposite one refused. */
export const answerRemembered = async (context: Context, xid: Xid, verb: Outcome): Promise<VerbAnswer | Refusal> => {
  const remembered = await loadOutcome(context, xid);
  if (remembered?.isRepeatable !== true) return unknownBranch(xid);
  if (remembered.outcome === (verb === "commit" ? "committed" : "rolled-back"))
    return { xa: "XA_OK", remembered: true };
  const at = new Date(remembered.completedAtMs).toISOString();
  return refuse("illegal-state", `branch ${xid} was ${remembered.outcome} at ${at}`);
};
