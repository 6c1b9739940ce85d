/**
 * The dtx verbs, each a function from the branch it meets to what becomes of it and what is answered: the state table of
 * `docs/branch-states.md`, row by row. The order of checks: timed-out, still associated, rollback-only, phase flag.
 */
import { type Association, type Branch, type Outcome, stateNameOf, step, timeoutOrDefault } from "./branch.ts";
import { SESSIONS_PER_BRANCH } from "./limits.ts";
import { type Refusal, refuse } from "./refusal.ts";
import type { SessionRef } from "./session.ts";
import type { Xid } from "./xid.ts";

export type XaStatus = "XA_OK" | "XA_RBROLLBACK" | "XA_RBTIMEOUT" | "XA_HEURCOM" | "XA_HEURRB";

/** What a verb makes of the branch. */
export type Effect =
  /** It answers; the branch stays as it is. */
  | { readonly effect: "nothing"; readonly xa: XaStatus }
  /** The branch is stored as given; a doomed one's work is then undone. */
  | { readonly effect: "store"; readonly branch: Branch; readonly xa: XaStatus }
  /** Depth is reserved and the branch stored, at once. */
  | { readonly effect: "prepare"; readonly branch: Branch }
  /** Its work is applied or undone; the branch is gone after it, or stays as decided by an operator. */
  | {
      readonly effect: "complete";
      readonly outcome: Outcome;
      readonly leaves: "none" | "heuristic";
      readonly reason: string;
    }
  /** It is gone and remembered as rolled back, its work being undone already. */
  | { readonly effect: "drop"; readonly xa: "XA_OK" | "XA_RBROLLBACK" | "XA_RBTIMEOUT"; readonly reason: string }
  | { readonly effect: "forget" };

export type Verdict = Effect | Refusal;

const nothing = (xa: XaStatus): Effect => ({ effect: "nothing", xa });
const store = (branch: Branch, xa: XaStatus): Effect => ({ effect: "store", branch, xa });
const drop = (xa: "XA_OK" | "XA_RBROLLBACK" | "XA_RBTIMEOUT", reason: string): Effect => ({
  effect: "drop",
  xa,
  reason,
});

export const unknownBranch = (xid: Xid): Refusal => refuse("not-found", `branch ${xid} does not exist`);

export const illegal = (branch: Branch, command: string): Refusal =>
  refuse("illegal-state", `${command} does not fit branch ${branch.xid}, which is ${stateNameOf(branch)}`);

const flagClash = (flags: string): Refusal => refuse("command-invalid", `${flags} exclude each other`);

export const startFlags = (join: boolean, resume: boolean): Refusal | undefined =>
  join && resume ? flagClash("join and resume") : undefined;

export const endFlags = (suspend: boolean, fail: boolean): Refusal | undefined =>
  suspend && fail ? flagClash("suspend and fail") : undefined;

/** A plain start of an xid that is known; of one that is not, `open` makes the branch. */
export const startKnown = (branch: Branch): Refusal =>
  refuse("not-allowed", `branch ${branch.xid} exists and is ${stateNameOf(branch)}`);

export const join = (branch: Branch, by: SessionRef): Verdict => {
  const { state } = branch;
  if (state.name === "deciding") return startKnown(branch);
  if (state.name === "timed-out") return nothing("XA_RBTIMEOUT");
  if (associationOf(branch, by) !== undefined) {
    return refuse("illegal-state", `session ${by.name} is already associated with branch ${branch.xid}`);
  }
  if (state.name === "rollback-only") return nothing("XA_RBROLLBACK");
  if (state.name !== "open") return illegal(branch, "join");
  if (branch.workers.length >= SESSIONS_PER_BRANCH) {
    return refuse("resource-limit-exceeded", `at most ${SESSIONS_PER_BRANCH} sessions may work in one branch`);
  }
  return store(
    step(branch, {
      associations: [...branch.associations, { ...by, isSuspended: false }],
      workers: branch.workers.some((w) => isSame(w, by)) ? branch.workers : [...branch.workers, by],
    }),
    "XA_OK",
  );
};

export const resume = (branch: Branch, by: SessionRef): Verdict => {
  const { state } = branch;
  if (state.name === "deciding") return startKnown(branch);
  const association = associationOf(branch, by);
  if (association?.isSuspended !== true) {
    if (state.name === "open" && association !== undefined) return nothing("XA_OK");
    return refuse("command-invalid", `session ${by.name} has suspended nothing in branch ${branch.xid}`);
  }
  if (state.name === "timed-out") return nothing("XA_RBTIMEOUT");
  if (state.name === "rollback-only") return nothing("XA_RBROLLBACK");
  return store(step(branch, { associations: replace(branch, { ...association, isSuspended: false }) }), "XA_OK");
};

export const end = (
  branch: Branch | undefined,
  xid: Xid,
  by: SessionRef,
  how: { suspend: boolean; fail: boolean },
): Verdict => {
  const association = branch && associationOf(branch, by);
  if (branch === undefined || association === undefined) {
    return refuse("illegal-state", `session ${by.name} is not associated with branch ${xid}`);
  }
  const without = step(branch, { associations: branch.associations.filter((a) => a !== association) });
  switch (branch.state.name) {
    case "timed-out":
      return store(without, "XA_RBTIMEOUT");
    case "rollback-only":
      return store(without, "XA_RBROLLBACK");
    case "open":
      if (how.fail) {
        const state = { name: "rollback-only", reason: `session ${by.name} ended it as failed` } as const;
        return store({ ...without, state }, "XA_RBROLLBACK");
      }
      if (!how.suspend) return store(without, "XA_OK");
      if (association.isSuspended) return illegal(branch, "end with suspend");
      return store(step(branch, { associations: replace(branch, { ...association, isSuspended: true }) }), "XA_OK");
    case "prepared":
    case "deciding":
    case "heuristic":
      return illegal(branch, "end");
  }
};

export const prepare = (branch: Branch, nowMs: number): Verdict => {
  switch (branch.state.name) {
    case "timed-out":
      return drop("XA_RBTIMEOUT", "timed out");
    case "rollback-only":
      return stillAssociated(branch) ?? nothing("XA_RBROLLBACK");
    case "open":
      return (
        stillAssociated(branch) ?? {
          effect: "prepare",
          branch: step(branch, { state: { name: "prepared", preparedAtMs: nowMs } }),
        }
      );
    case "prepared":
    case "deciding":
    case "heuristic":
      return illegal(branch, "prepare");
  }
};

export const commit = (branch: Branch, onePhase: boolean): Verdict => {
  const { state } = branch;
  switch (state.name) {
    case "timed-out":
      return drop("XA_RBTIMEOUT", "timed out");
    case "rollback-only":
      return stillAssociated(branch) ?? drop("XA_RBROLLBACK", state.reason);
    case "open":
      if (!onePhase) return stillAssociated(branch) ?? illegal(branch, "a two-phase commit");
      return stillAssociated(branch) ?? complete("commit", "one-phase commit");
    case "prepared":
      return onePhase ? illegal(branch, "a one-phase commit") : complete("commit", "commit");
    case "deciding":
      return state.decision.outcome === "commit" && state.decision.leaves === "none"
        ? complete("commit", state.decision.reason)
        : illegal(branch, "commit");
    case "heuristic":
      return nothing(heuristicStatus(state.outcome));
  }
};

export const rollback = (branch: Branch): Verdict => {
  const { state } = branch;
  switch (state.name) {
    case "timed-out":
      return drop("XA_RBTIMEOUT", "timed out");
    case "rollback-only":
      return stillAssociated(branch) ?? drop("XA_OK", state.reason);
    case "open":
      return stillAssociated(branch) ?? complete("rollback", "rollback");
    case "prepared":
      return complete("rollback", "rollback");
    case "deciding":
      return state.decision.outcome === "rollback" && state.decision.leaves === "none"
        ? complete("rollback", state.decision.reason)
        : illegal(branch, "rollback");
    case "heuristic":
      return nothing(heuristicStatus(state.outcome));
  }
};

export const forget = (branch: Branch): Verdict =>
  branch.state.name === "heuristic" ? { effect: "forget" } : illegal(branch, "forget");

/** An operator's decision on a prepared branch. */
export const decide = (branch: Branch, outcome: Outcome, reason: string): Verdict => {
  const { state } = branch;
  if (state.name === "prepared") return { effect: "complete", outcome, leaves: "heuristic", reason };
  const goesOn =
    state.name === "deciding" && state.decision.leaves === "heuristic" && state.decision.outcome === outcome;
  return goesOn
    ? { effect: "complete", outcome, leaves: "heuristic", reason: state.decision.reason }
    : illegal(branch, "a heuristic decision");
};

export const setTimeout = (branch: Branch, timeoutSeconds: number, nowMs: number): Verdict => {
  const seconds = timeoutOrDefault(timeoutSeconds);
  switch (branch.state.name) {
    case "open":
      return store(step(branch, { timeoutSeconds: seconds, deadlineMs: nowMs + seconds * 1000 }), "XA_OK");
    case "rollback-only":
    case "prepared":
      return store(step(branch, { timeoutSeconds: seconds }), "XA_OK");
    case "timed-out":
      return nothing("XA_OK");
    case "deciding":
    case "heuristic":
      return illegal(branch, "setting a timeout");
  }
};

/** Whether a message call of this session may work in the branch. */
export const mayWork = (branch: Branch | undefined, xid: Xid, by: SessionRef): Refusal | undefined => {
  const association = branch && associationOf(branch, by);
  if (branch === undefined || association === undefined || association.isSuspended) {
    return refuse("illegal-state", `session ${by.name} is not actively associated with branch ${xid}`);
  }
  return branch.state.name === "open" ? undefined : illegal(branch, "a message call");
};

const complete = (outcome: Outcome, reason: string): Effect => ({
  effect: "complete",
  outcome,
  leaves: "none",
  reason,
});

const heuristicStatus = (outcome: Outcome): XaStatus => (outcome === "commit" ? "XA_HEURCOM" : "XA_HEURRB");

const isSame = (a: SessionRef, b: SessionRef): boolean => a.name === b.name && a.epoch === b.epoch;

const associationOf = (branch: Branch, by: SessionRef): Association | undefined =>
  branch.associations.find((a) => isSame(a, by));

const replace = (branch: Branch, association: Association): readonly Association[] =>
  branch.associations.map((a) => (isSame(a, association) ? association : a));

const stillAssociated = (branch: Branch): Refusal | undefined => {
  const [first] = branch.associations;
  return first && refuse("illegal-state", `branch ${branch.xid} is still associated with session ${first.name}`);
};
