import { type Refusal, refuse } from "../../domain/refusal.ts";
import type { SessionRef } from "../../domain/session.ts";
import { end, endFlags } from "../../domain/verb.ts";
import type { Xid } from "../../domain/xid.ts";
import type { Context } from "../context.ts";
import { fenceCall } from "../sessions/liveness.ts";
import { perform, type VerbAnswer } from "./perform.ts";

/** Ends, suspends or fails a session's association with a branch. */
export const endBranch = async (
  context: Context,
  xid: Xid,
  by: SessionRef | undefined,
  flags: { readonly suspend: boolean; readonly fail: boolean },
): Promise<VerbAnswer | Refusal> => {
  if (by === undefined) return refuse("command-invalid", "an end needs a session");
  const clash = endFlags(flags.suspend, flags.fail);
  if (clash !== undefined) return (await fenceCall(context, by)) ?? clash;
  return perform(context, {
    xid,
    session: by,
    decide: (branch) => end(branch, xid, by, flags),
    onUnknown: () => {
      const verdict = end(undefined, xid, by, flags);
      if ("effect" in verdict) throw new Error("an unknown branch has no effect");
      return verdict;
    },
  });
};
