import { type Branch, type Outcome, step } from "../../domain/branch.ts";
import type { Operation } from "../../domain/operation.ts";
import { deleteBranch, putBlock, writeBranch } from "../../records/branch.ts";
import { putOutcome } from "../../records/remembered.ts";
import type { Write } from "../../records/write.ts";
import { Unavailable } from "../../store/port.ts";
import type { Context } from "../context.ts";
import { sweepFreed } from "../queues/sweep-freed.ts";
import { applyAside } from "./apply-aside.ts";
import { type Applied, commitAtOnce, fitsOneCommit } from "./apply-at-once.ts";
import { forgetAsideNow } from "./aside.ts";
import { addsOf, type Completion, loadQueues, takePositions } from "./gather.ts";
import { loadOperations } from "./operations.ts";
import { canReserve, makeRoomForBranch, RESERVATIONS, reservations } from "./room.ts";

/** How often room is made on ring queues that others fill at the same time. */
const ROUNDS_FOR_ROOM = 8;

/**
 * Brings a branch to its end: in one commit, or past its decision block by block. `moved`: it is not as it was read.
 * `full`: a one-phase commit met a queue without room, or too many that have limits, and applied nothing.
 */
export const completeBranch = async (context: Context, branch: Branch, completion: Completion): Promise<Applied> => {
  if (branch.state.name === "deciding") return finishDecided(context, branch);
  const operations = await loadOperations(context, branch);
  if (await mustReserveTooMuch(context, branch, operations, completion)) return "full";
  for (let round = 0; ; round++) {
    const applied = fitsOneCommit(operations, branch.blocks)
      ? await completeAtOnce(context, branch, operations, completion)
      : await decide(context, branch, operations, completion);
    const isWorthAnother = applied === "full" && round < ROUNDS_FOR_ROOM;
    if (isWorthAnother && (await makeRoomForBranch(context, operations, round === 0))) continue;
    if (applied === "done" && completion.outcome === "rollback") await sweepFreed(context, operations);
    return applied;
  }
};

/** Finishes a branch whose decision is recorded. */
export const finishDecided = async (context: Context, branch: Branch): Promise<Applied> => {
  if (branch.state.name !== "deciding") throw new Error("only a decided branch can be finished");
  const { outcome } = branch.state.decision;
  const applied = await applyAside(context, branch, outcome);
  if (applied === undefined || applied.state.name !== "deciding") return "done";
  const { decision } = applied.state;
  const commit = await context.store.commit(
    endingsOf(applied, decision, applied.state.preparedAtMs, decision.decidedAtMs, decision.dropped),
  );
  // A failure means that someone else has finished it.
  return commit.done || commit.failures.length > 0 ? "done" : "moved";
};

/** A one-phase commit that publishes to more limited queues than one commit can reserve depth on. */
const mustReserveTooMuch = async (
  context: Context,
  branch: Branch,
  operations: readonly Operation[],
  { outcome }: Completion,
): Promise<boolean> => {
  if (outcome !== "commit" || isReservedBy(branch) || addsOf(operations).length <= RESERVATIONS) return false;
  return reservations(operations, await loadQueues(context, operations)).length > RESERVATIONS;
};

const isReservedBy = (branch: Branch): boolean => branch.state.name === "prepared";

const completeAtOnce = (
  context: Context,
  branch: Branch,
  operations: readonly Operation[],
  completion: Completion,
): Promise<Applied> => {
  const nowMs = context.now();
  return commitAtOnce(context, branch, operations, {
    outcome: completion.outcome,
    isReserved: isReservedBy(branch),
    nowMs,
    endings: (dropped) => endingsOf(branch, completion, preparedAtOf(branch, nowMs), nowMs, dropped),
  });
};

const preparedAtOf = (branch: Branch, nowMs: number): number =>
  branch.state.name === "prepared" ? branch.state.preparedAtMs : nowMs;

/** The branch's own end: gone and remembered, or kept as an operator decided it. */
const endingsOf = (
  branch: Branch,
  { outcome, leaves, reason, isRepeatable }: Completion,
  preparedAtMs: number,
  completedAtMs: number,
  dropped: number,
): readonly Write[] => {
  if (leaves === "heuristic") {
    const state = { name: "heuristic", outcome, reason, preparedAtMs, completedAtMs } as const;
    return [writeBranch(branch, step(branch, { state, operations: [], blocks: [] }))];
  }
  return [
    deleteBranch(branch),
    putOutcome(branch.xid, branch.incarnation, {
      outcome: outcomeName(outcome),
      reason,
      isRepeatable,
      completedAtMs,
      dropped,
    }),
  ];
};

const outcomeName = (outcome: Outcome) => (outcome === "commit" ? "committed" : "rolled-back");

/**
 * Records the decision on a branch that is larger than one commit: its newest operations are put aside, positions are
 * taken at the tails, and one write makes it count. In one phase that write reserves depth as well.
 */
const decide = async (
  context: Context,
  branch: Branch,
  operations: readonly Operation[],
  completion: Completion,
): Promise<Applied> => {
  const nowMs = context.now();
  const isCommit = completion.outcome === "commit";
  const queues = await loadQueues(context, operations);
  const mustReserve = isCommit && !isReservedBy(branch);
  if (mustReserve && !(await canReserve(context, operations, queues))) return "full";
  const [positions] = await Promise.all([
    takePositions(context, isCommit ? addsOf(operations) : []),
    branch.operations.length > 0 ? context.store.commit([putBlock(branch, branch.operations)]) : undefined,
  ]);
  const decision = {
    ...completion,
    decidedAtMs: nowMs,
    positions,
    dropped: 0,
    isReserved: isCommit || isReservedBy(branch),
  };
  const decided = step(branch, {
    state: { name: "deciding", preparedAtMs: preparedAtOf(branch, nowMs), decision },
    blocks: branch.operations.length > 0 ? [...branch.blocks, branch.version] : branch.blocks,
    operations: [],
  });
  const ending = writeBranch(branch, decided);
  const reserving = mustReserve ? reservations(operations, queues) : [];
  const commit = await context.store.commit([ending, ...reserving]);
  if (commit.done) return finishDecided(context, decided);
  if (commit.failures.some(({ write }) => write === ending)) {
    if (branch.operations.length > 0) await forgetAsideNow(context, branch);
    return "moved";
  }
  if (reserving.length > 0) return "full";
  throw new Unavailable(`branch ${branch.xid} could not be decided`);
};
