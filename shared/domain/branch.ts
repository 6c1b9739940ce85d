/**
 * The branch state machine: `docs/branch-states.md`. Pure: what a verb finds and what it makes of it. A branch that does not
 * exist is `undefined` before a verb and `none` after it. Session fences and flag clashes are checked by `verb.ts`.
 */
import { BRANCH_TIMEOUT_SECONDS_DEFAULT } from "./limits.ts";
import type { Operation } from "./operation.ts";
import type { SessionRef } from "./session.ts";
import type { Xid } from "./xid.ts";

export interface Association extends SessionRef {
  readonly isSuspended: boolean;
}

export type Outcome = "commit" | "rollback";

/** A decision that is recorded but not applied everywhere: the commit point of a large branch. */
export interface Decision {
  readonly outcome: Outcome;
  readonly decidedAtMs: number;
  /** What becomes of the branch when all is applied. */
  readonly leaves: "none" | "heuristic";
  readonly reason: string;
  /** The verb that decided answered XA_OK. */
  readonly isRepeatable: boolean;
  /** For each partition that it adds to, the position of the next run. */
  readonly positions: Readonly<Record<string, number>>;
  /** Depth was reserved on limited queues, by prepare or with the decision. */
  readonly isReserved: boolean;
  /** Messages that found no place so far. */
  readonly dropped: number;
}

export type BranchState =
  /** Active, suspended or idle: its associations say which. */
  | { readonly name: "open" }
  | { readonly name: "rollback-only"; readonly reason: string }
  | { readonly name: "timed-out"; readonly timedOutAtMs: number }
  | { readonly name: "prepared"; readonly preparedAtMs: number }
  | { readonly name: "deciding"; readonly preparedAtMs: number; readonly decision: Decision }
  | {
      readonly name: "heuristic";
      readonly outcome: Outcome;
      readonly reason: string;
      readonly preparedAtMs: number;
      readonly completedAtMs: number;
    };

export interface Branch {
  readonly xid: Xid;
  /** Tells one life of the xid from the next. */
  readonly incarnation: string;
  readonly version: number;
  readonly state: BranchState;
  /** The session that started it. */
  readonly session: string;
  readonly timeoutSeconds: number;
  readonly deadlineMs: number;
  readonly associations: readonly Association[];
  /** Every session that was associated, at its epoch: the end of one dooms the branch until it is prepared. */
  readonly workers: readonly SessionRef[];
  /** Older operations, put aside; each block is named by the version that the branch had then. Ascending. */
  readonly blocks: readonly number[];
  readonly operations: readonly Operation[];
  /** Messages in all operations, blocks included. */
  readonly messages: number;
}

/** What callers are told of the state. */
export type StateName =
  | "active"
  | "suspended"
  | "idle"
  | "rollback-only"
  | "timed-out"
  | "prepared"
  | "deciding"
  | "heuristically-committed"
  | "heuristically-rolled-back";

export const stateNameOf = (branch: Branch): StateName => {
  switch (branch.state.name) {
    case "open":
      if (branch.associations.length === 0) return "idle";
      return branch.associations.every((a) => a.isSuspended) ? "suspended" : "active";
    case "heuristic":
      return branch.state.outcome === "commit" ? "heuristically-committed" : "heuristically-rolled-back";
    case "rollback-only":
    case "timed-out":
    case "prepared":
    case "deciding":
      return branch.state.name;
  }
};

/** Work that commit would apply or rollback undo is still listed. */
export const hasWork = (branch: Branch): boolean => branch.operations.length > 0 || branch.blocks.length > 0;

/** Doomed, and the undoing of its work not complete: whoever meets it goes on with that. */
export const isUndoing = (branch: Branch): boolean =>
  (branch.state.name === "rollback-only" || branch.state.name === "timed-out") && hasWork(branch);

export const open = (xid: Xid, incarnation: string, by: SessionRef, timeoutSeconds: number, nowMs: number): Branch => ({
  xid,
  incarnation,
  // Above any version of an older incarnation, which rose by one a write from such a start.
  version: nowMs,
  state: { name: "open" },
  session: by.name,
  timeoutSeconds: timeoutOrDefault(timeoutSeconds),
  deadlineMs: nowMs + timeoutOrDefault(timeoutSeconds) * 1000,
  associations: [{ ...by, isSuspended: false }],
  workers: [by],
  blocks: [],
  operations: [],
  messages: 0,
});

/** 0 stands for the default. */
export const timeoutOrDefault = (timeoutSeconds: number): number =>
  timeoutSeconds === 0 ? BRANCH_TIMEOUT_SECONDS_DEFAULT : timeoutSeconds;

/** The same branch, one version on. */
export const step = (branch: Branch, changes: Partial<Omit<Branch, "version">>): Branch => ({
  ...branch,
  ...changes,
  version: branch.version + 1,
});

/**
 * The branch as time and its sessions have left it by now: a passed deadline and a dead worker doom what is not
 * prepared, and the associations of sessions that ended are gone. The same object when nothing of that applies.
 */
export const meet = (
  branch: Branch,
  fate: (session: SessionRef) => "alive" | "detached" | "dead",
  nowMs: number,
): Branch => {
  const { state } = branch;
  if (state.name === "prepared" || state.name === "deciding" || state.name === "heuristic") return branch;
  const associations = branch.associations.filter((a) => fate(a) === "alive");
  const changes = associations.length < branch.associations.length ? { associations } : {};
  if (state.name === "timed-out") return "associations" in changes ? step(branch, changes) : branch;
  if (branch.deadlineMs <= nowMs) {
    return step(branch, { ...changes, state: { name: "timed-out", timedOutAtMs: branch.deadlineMs } });
  }
  if (state.name === "rollback-only") return "associations" in changes ? step(branch, changes) : branch;
  const lost =
    branch.associations.find((a) => fate(a) !== "alive") ?? branch.workers.find((worker) => fate(worker) === "dead");
  if (lost === undefined) return branch;
  return doom({ ...branch, ...changes }, `session ${lost.name} ended before the branch was prepared`);
};

export const doom = (branch: Branch, reason: string): Branch =>
  step(branch, { state: { name: "rollback-only", reason } });
