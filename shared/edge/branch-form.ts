/** Branches as answers show them. */
import { type Branch, stateNameOf } from "../domain/branch.ts";
import { messagesIn, type Operation } from "../domain/operation.ts";
import { type Xid, xidParts } from "../domain/xid.ts";

/** Operations listed in one answer; a larger branch says that there are more. */
const OPERATIONS_PER_ANSWER = 10_000;

export const isoTime = (atMs: number): string => new Date(atMs).toISOString();

export const xidForm = (xid: Xid) => ({ xid, ...xidParts(xid) });

export const branchForm = (branch: Branch, operations: readonly Operation[]) => ({
  ...xidForm(branch.xid),
  state: stateNameOf(branch),
  session: branch.session,
  associations: branch.associations.map(({ name, epoch, isSuspended }) => ({
    session: name,
    epoch,
    state: isSuspended ? "suspended" : "active",
  })),
  deadline: deadlineOf(branch),
  timeoutSeconds: branch.timeoutSeconds,
  messages: branch.messages,
  operations: operations.slice(0, OPERATIONS_PER_ANSWER).map((operation) => ({
    kind: operation.kind,
    queue: operation.kind === "add" ? operation.queue : operation.run.name,
    messages: messagesIn(operation),
  })),
  ...(operations.length > OPERATIONS_PER_ANSWER && { more: true }),
  ...stateForm(branch),
});

/** What became of a branch, while it is remembered. */
export const outcomeForm = (xid: Xid, { outcome, reason, completedAtMs, dropped }: Outcome) => ({
  ...xidForm(xid),
  state: outcome,
  reason,
  completedAt: isoTime(completedAtMs),
  ...(dropped > 0 && { dropped }),
});

interface Outcome {
  readonly outcome: "committed" | "rolled-back";
  readonly reason: string;
  readonly completedAtMs: number;
  /** Messages that found no place, or were gone. */
  readonly dropped: number;
}

/** Prepared and decided branches have no deadline. */
const deadlineOf = ({ state, deadlineMs }: Branch): string | null => {
  switch (state.name) {
    case "open":
    case "rollback-only":
    case "timed-out":
      return isoTime(deadlineMs);
    case "prepared":
    case "deciding":
    case "heuristic":
      return null;
  }
};

const stateForm = ({ state }: Branch): object => {
  switch (state.name) {
    case "open":
    case "timed-out":
      return {};
    case "rollback-only":
      return { reason: state.reason };
    case "prepared":
      return { preparedAt: isoTime(state.preparedAtMs) };
    case "deciding": {
      const { outcome, reason, decidedAtMs } = state.decision;
      return { preparedAt: isoTime(state.preparedAtMs), outcome, reason, decidedAt: isoTime(decidedAtMs) };
    }
    case "heuristic": {
      const { outcome, reason, preparedAtMs, completedAtMs } = state;
      return { outcome, reason, preparedAt: isoTime(preparedAtMs), completedAt: isoTime(completedAtMs) };
    }
  }
};
