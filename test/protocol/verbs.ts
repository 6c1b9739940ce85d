/** What the verbs on a branch have in common: what is read and met first, and the commit that a verdict asks for. */
import { type Branch, type Decision, hasWork, type Outcome, step } from "../../shared/domain/branch.ts";
import { isRefusal } from "../../shared/domain/refusal.ts";
import type { Verdict } from "../../shared/domain/verb.ts";
import { type Call, type Commit, isFenced, type Own, ref, type Sizes, type View } from "./call.ts";
import { allApplied, checks, decided, putBranch } from "./effects.ts";
import { owed, part } from "./meeting.ts";
import type { Rules } from "./rules.ts";
import { type BranchName, sessionNames } from "./table.ts";

/** The commit that a verdict of the state machine asks for; undefined when it asks for none. */
export const carryOut = (
  x: BranchName,
  branch: Branch,
  verdict: Verdict,
  rules: Rules,
  sizes: Sizes,
): Commit | undefined => {
  if (isRefusal(verdict)) return undefined;
  const names = rules.completionNamesBranch ? [x] : [];
  switch (verdict.effect) {
    case "nothing":
      return undefined;
    case "forget":
      return {
        does: `takes ${x} off the list, decided by hand`,
        names: rules.forgetNamesBranch ? [x] : [],
        apply: (table) => putBranch(table, x, undefined),
      };
    case "store":
      return {
        does: `stores ${x} as ${verdict.branch.state.name}`,
        names: [x],
        apply: (table) => putBranch(table, x, verdict.branch),
      };
    case "prepare":
      return {
        does: `prepares ${x}`,
        names: rules.prepareNamesBranch ? [x] : [],
        apply: (table) => putBranch(table, x, verdict.branch),
      };
    case "drop":
      return {
        does: `takes the doomed ${x} off the list`,
        names,
        apply: (table) => decided(putBranch(table, x, undefined), branch.incarnation, "rollback"),
      };
    case "complete":
      return completing(x, branch, verdict, rules, sizes);
  }
};

const completing = (
  x: BranchName,
  branch: Branch,
  { outcome, leaves }: Pick<Decision, "outcome" | "leaves">,
  rules: Rules,
  sizes: Sizes,
): Commit => {
  const mustName = leaves === "heuristic" ? rules.heuristicNamesBranch : rules.completionNamesBranch;
  const names = mustName ? [x] : [];
  const word = outcome === "commit" ? "commits" : "rolls back";
  if (branch.state.name === "deciding") return finishing(x, branch, branch.state.decision, rules);
  if (sizes.large.includes(x)) {
    const decision = {
      outcome,
      decidedAtMs: 0,
      leaves,
      reason: "",
      isRepeatable: true,
      positions: {},
      isReserved: false,
      dropped: 0,
    } as const;
    const deciding = step(branch, { state: { name: "deciding", preparedAtMs: 0, decision } });
    return {
      does: `decides that ${x} ${word}`,
      names,
      decides: x,
      apply: (table) => decided(putBranch(table, x, deciding), branch.incarnation, outcome),
    };
  }
  return {
    does: `${word} ${x}`,
    names,
    decides: x,
    apply: (table) => {
      const ended = decided(putBranch(table, x, left(branch, outcome, leaves)), branch.incarnation, outcome);
      return rules.completionIsWhole ? allApplied(ended, branch, outcome) : ended;
    },
  };
};

/** What a recorded decision asks for next: a part of the work, or the branch's own end. */
export const finishing = (
  x: BranchName,
  branch: Branch,
  { outcome, leaves }: Pick<Decision, "outcome" | "leaves">,
  rules: Rules,
): Commit =>
  hasWork(branch)
    ? part(x, branch, outcome, rules)
    : {
        does: leaves === "none" ? `takes ${x} off the list, all of it applied` : `keeps ${x} as it was decided by hand`,
        names: [x],
        apply: (table) => decided(putBranch(table, x, left(branch, outcome, leaves)), branch.incarnation, outcome),
      };

/** What a completed branch leaves on the list. */
const left = (branch: Branch, outcome: Outcome, leaves: Decision["leaves"]): Branch | undefined => {
  if (leaves === "none") return undefined;
  const state = { name: "heuristic", outcome, reason: "", preparedAtMs: 0, completedAtMs: 0 } as const;
  return step(branch, { state, operations: [] });
};

/** The same, with the session checked in that commit, as it is when the session becomes associated. */
export const checkingSession = (made: Commit, view: View, own: Own, rules: Rules): Commit => ({
  ...made,
  apply: (table) => (rules.startChecksSession && !checks(table, view, own) ? undefined : made.apply(table)),
});

/** A condition that every rule leaves in place. */
export const always = (): boolean => true;

/** A verb on a branch: fence, meet, decide, one commit. */
export const verb = (
  word: string,
  x: BranchName,
  own: Own | undefined,
  sizes: Sizes,
  namesBranch: (rules: Rules) => boolean,
  decide: (branch: Branch, view: View, rules: Rules) => Commit | undefined,
): Call => ({
  id: `${word} ${x}${own === undefined ? "" : ` in ${ref(own)}`}`,
  ...(own !== undefined && { own }),
  most: (rules) => ({ reads: [x, ...sessionNames], names: namesBranch(rules) ? [x] : [] }),
  decide: (view, rules) => {
    if (own !== undefined && isFenced(view, own)) return undefined;
    const branch = view[x];
    return branch && (owed(view, x, rules, sizes) ?? decide(branch, view, rules));
  },
});

/** The branch as prepare and commit see it when a rule on its associations is left out. */
export const asSeen = (branch: Branch, rules: Rules): Branch => {
  const kept = asKept(branch, rules);
  if (!rules.completionAwaitsEnd) return { ...kept, associations: [] };
  if (rules.suspendedIsAssociated) return kept;
  return { ...kept, associations: kept.associations.filter(({ isSuspended }) => !isSuspended) };
};

/** Without the rule that a decision by hand is the last one. */
export const asKept = (branch: Branch, rules: Rules): Branch =>
  rules.heuristicIsFinal || branch.state.name !== "heuristic" ? branch : asPrepared(branch);

/** Without the rule that a suspended session may not work. */
export const asActive = (branch: Branch, rules: Rules): Branch =>
  rules.suspendedMayNotWork
    ? branch
    : { ...branch, associations: branch.associations.map((each) => ({ ...each, isSuspended: false })) };

export const asPrepared = (branch: Branch): Branch => ({ ...branch, state: { name: "prepared", preparedAtMs: 0 } });
