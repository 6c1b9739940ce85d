/** The calls on a branch that few transactions make: to suspend it and take it up again, to fail it, to decide it by hand. */
import type { Outcome } from "../../shared/domain/branch.ts";
import { decide, end, forget, resume } from "../../shared/domain/verb.ts";
import type { Call, Own, Sizes } from "./call.ts";
import { doom } from "./meeting.ts";
import { type BranchName, xids } from "./table.ts";
import { always, asPrepared, carryOut, checkingSession, verb } from "./verbs.ts";

/** `end` with suspend. */
export const suspendCall = (x: BranchName, own: Own, sizes: Sizes): Call =>
  verb("suspend", x, own, sizes, always, (branch, _, rules) => {
    const made = carryOut(x, branch, end(branch, xids[x], own, { suspend: true, fail: false }), rules, sizes);
    return made && { ...made, does: `stores ${x} as suspended` };
  });

/** `start` with resume; the word resume is a session's here. The session is checked in the same commit. */
export const takeUpCall = (x: BranchName, own: Own, sizes: Sizes): Call =>
  verb("take up", x, own, sizes, always, (branch, view, rules) => {
    const made = carryOut(x, branch, resume(branch, own), rules, sizes);
    return made && { ...checkingSession(made, view, own, rules), does: `stores ${x} as taken up` };
  });

/** `end` with fail: the branch is doomed, and its work undone in the same commit if one is enough for it. */
export const failCall = (x: BranchName, own: Own, sizes: Sizes): Call =>
  verb("fail", x, own, sizes, always, (branch, _, rules) => {
    const verdict = end(branch, xids[x], own, { suspend: false, fail: true });
    if (!("effect" in verdict) || verdict.effect !== "store") return undefined;
    if (branch.state.name !== "open") return carryOut(x, branch, verdict, rules, sizes);
    return { ...doom(x, branch, verdict.branch, [], rules, sizes), does: `stores ${x} as failed`, names: [x] };
  });

/** An operator's decision on a branch in doubt. */
export const heuristicCall = (x: BranchName, outcome: Outcome, sizes: Sizes): Call => ({
  id: `heuristic ${outcome} ${x}`,
  most: (rules) => ({ reads: [x], names: rules.heuristicNamesBranch ? [x] : [] }),
  decide: (view, rules) => {
    const branch = view[x];
    if (branch === undefined || branch.state.name === "deciding") return undefined;
    const isTaken = branch.state.name === "open" && !rules.heuristicNeedsPrepared;
    return carryOut(x, branch, decide(isTaken ? asPrepared(branch) : branch, outcome, ""), rules, sizes);
  },
});

/** Whoever has taken note of a decision by hand takes the branch off the list. */
export const forgetCall = (x: BranchName, sizes: Sizes): Call => ({
  id: `forget ${x}`,
  most: (rules) => ({ reads: [x], names: rules.forgetNamesBranch ? [x] : [] }),
  decide: (view, rules) => {
    const branch = view[x];
    return branch && carryOut(x, branch, forget(branch), rules, sizes);
  },
});
