import { type Association, type Branch, type BranchState, open } from "../../shared/domain/branch.ts";
import type { SessionRef } from "../../shared/domain/session.ts";
import { parseXid } from "../../shared/domain/xid.ts";

/** When the branches of these tests were started, in ms, and when their deadline is. */
export const startedMs = 1_000_000;
export const deadlineMs = startedMs + 60_000;
/** Before the deadline. */
export const nowMs = startedMs + 30_000;

export const xid = parseXid("1.6f7264657273.01") ?? neverHappens();

function neverHappens(): never {
  throw new Error("the xid of the tests is none");
}

/** The session that the commands of the table come from, one that joined, and one that never had to do with the branch. */
export const here: SessionRef = { name: "here", epoch: 2 };
export const other: SessionRef = { name: "other", epoch: 5 };
export const stranger: SessionRef = { name: "stranger", epoch: 1 };

const active = (by: SessionRef): Association => ({ ...by, isSuspended: false });
const suspended = (by: SessionRef): Association => ({ ...by, isSuspended: true });

const doomed: BranchState = { name: "rollback-only", reason: "for the test" };
const timedOut: BranchState = { name: "timed-out", timedOutAtMs: deadlineMs };
const prepared: BranchState = { name: "prepared", preparedAtMs: nowMs };
const heuristic = (outcome: "commit" | "rollback"): BranchState => ({
  name: "heuristic",
  outcome,
  reason: "for the test",
  preparedAtMs: nowMs,
  completedAtMs: nowMs,
});
const deciding = (outcome: "commit" | "rollback", leaves: "none" | "heuristic"): BranchState => ({
  name: "deciding",
  preparedAtMs: nowMs,
  decision: {
    outcome,
    decidedAtMs: nowMs,
    leaves,
    reason: "for the test",
    isRepeatable: true,
    positions: {},
    isReserved: false,
    dropped: 0,
  },
});

const openState: BranchState = { name: "open" };

const forms = {
  active: [openState, [active(here)]],
  "active, joined by another": [openState, [active(here), active(other)]],
  "active by another only": [openState, [active(other)]],
  "active by another, suspended here": [openState, [suspended(here), active(other)]],
  suspended: [openState, [suspended(here)]],
  "suspended, by another too": [openState, [suspended(here), suspended(other)]],
  idle: [openState, []],
  "rollback-only": [doomed, []],
  "rollback-only, active here": [doomed, [active(here)]],
  "rollback-only, suspended here": [doomed, [suspended(here)]],
  "rollback-only, active by another": [doomed, [active(other)]],
  prepared: [prepared, []],
  "timed-out": [timedOut, []],
  "timed-out, active here": [timedOut, [active(here)]],
  "timed-out, suspended here": [timedOut, [suspended(here)]],
  "timed-out, active by another": [timedOut, [active(other)]],
  "heuristically-committed": [heuristic("commit"), []],
  "heuristically-rolled-back": [heuristic("rollback"), []],
  "deciding to commit": [deciding("commit", "none"), []],
  "deciding to roll back": [deciding("rollback", "none"), []],
  "deciding, an operator's commit": [deciding("commit", "heuristic"), []],
  "deciding, an operator's rollback": [deciding("rollback", "heuristic"), []],
} as const satisfies Record<string, readonly [BranchState, readonly Association[]]>;

export type Situation = keyof typeof forms;

/** Every state of `docs/branch-states.md`, and of each state the forms in which commands answer differently. */
export const situations = Object.keys(forms) as Situation[];

/** A branch in the situation; `here` and `other` have worked in it. */
export const branchIn = (situation: Situation): Branch => {
  const [state, associations] = forms[situation];
  return { ...open(xid, "incarnation", here, 60, startedMs), state, associations, workers: [here, other] };
};
