import { type Branch, doom, hasWork, type StateName, stateNameOf } from "../../domain/branch.ts";
import { isRefusal, type Refusal } from "../../domain/refusal.ts";
import { fence, type SessionRef } from "../../domain/session.ts";
import type { Effect, Verdict, XaStatus } from "../../domain/verb.ts";
import type { Xid } from "../../domain/xid.ts";
import { deleteBranch, writeBranch } from "../../records/branch.ts";
import { putOutcome } from "../../records/remembered.ts";
import type { Write } from "../../records/write.ts";
import { type Consistency, Unavailable } from "../../store/port.ts";
import type { Context } from "../context.ts";
import { completeBranch } from "./complete.ts";
import { loadQueues } from "./gather.ts";
import { isNextLife, nextLife } from "./life.ts";
import { loadBranchAnd } from "./load.ts";
import { loadOperations } from "./operations.ts";
import { makeRoomForBranch, RESERVATIONS, reservations } from "./room.ts";
import { carryOutDoom } from "./undo.ts";

export interface VerbAnswer {
  readonly xa: XaStatus;
  /** What the branch is afterwards; absent when it is gone. */
  readonly state?: StateName;
  /** The same verb completed the branch before. */
  readonly remembered?: true;
}

export interface Verb {
  readonly xid: Xid;
  /** Fenced first, when the call names one. */
  readonly session: SessionRef | undefined;
  /** The state machine's word on the branch as it was met. */
  readonly decide: (branch: Branch) => Verdict;
  readonly onUnknown: () => Promise<VerbAnswer | Refusal> | VerbAnswer | Refusal;
  /** Writes that stand beside the branch's own; when one of them fails, the verb begins anew. */
  readonly beside?: readonly Write[];
}

/** How often a verb begins anew because the branch moved. */
const ROUNDS = 20;

/**
 * One verb on one branch: load, decide, commit. It reads eventually consistent, at half the price, as long as a write that
 * names the version will prove the branch was so; what is answered without a write is decided on a strong read.
 */
export const perform = async (context: Context, verb: Verb): Promise<VerbAnswer | Refusal> => {
  let consistency: Consistency = "eventual";
  let fit: Branch | undefined;
  for (let round = 0; round < ROUNDS; round++) {
    // The session is always read strongly: a call that carries an old epoch writes nothing, not even a commit.
    const { branch, session } = await loadBranchAnd(context, verb.xid, verb.session, consistency);
    const fenced = verb.session && fence(session, verb.session, context.now());
    if (fenced !== undefined) return fenced;
    if (isNextLife(fit, branch)) return nextLife(verb.xid);
    const verdict = branch && verb.decide(branch);
    const isWriting = verdict !== undefined && !isRefusal(verdict) && verdict.effect !== "nothing";
    if (isWriting) fit ??= branch;
    if (!isWriting && consistency === "eventual") {
      consistency = "strong";
      continue;
    }
    if (branch === undefined || verdict === undefined) return verb.onUnknown();
    if (isRefusal(verdict)) return verdict;
    if (verdict.effect === "nothing") return { xa: verdict.xa, state: stateNameOf(branch) };
    const answer = await carryOut(context, branch, verdict, verb.beside ?? []);
    if (answer !== "moved") return answer;
    consistency = "strong";
  }
  throw new Unavailable(`branch ${verb.xid} is changed by others all the time`);
};

type Writing = Exclude<Effect, { effect: "nothing" }>;

const carryOut = async (
  context: Context,
  branch: Branch,
  effect: Writing,
  beside: readonly Write[],
): Promise<VerbAnswer | "moved"> => {
  switch (effect.effect) {
    case "store":
      return (await store(context, branch, effect.branch, beside))
        ? { xa: effect.xa, state: stateNameOf(effect.branch) }
        : "moved";
    case "prepare":
      return prepare(context, branch, effect.branch);
    case "complete":
      return complete(context, branch, effect);
    case "drop":
      return (await end(context, branch, effect.reason, effect.xa === "XA_OK", "rolled-back"))
        ? { xa: effect.xa }
        : "moved";
    case "forget": {
      const isCommitted = branch.state.name === "heuristic" && branch.state.outcome === "commit";
      const outcome = isCommitted ? "committed" : "rolled-back";
      return (await end(context, branch, "forgotten after a heuristic decision", false, outcome))
        ? { xa: "XA_OK" }
        : "moved";
    }
  }
};

const store = async (context: Context, branch: Branch, after: Branch, beside: readonly Write[]): Promise<boolean> => {
  if (after.state.name === "rollback-only" && hasWork(after)) {
    return (await carryOutDoom(context, branch, after)) !== undefined;
  }
  return (await context.store.commit([writeBranch(branch, after), ...beside])).done;
};

/** Takes the branch out of the list and remembers what became of it. */
const end = async (
  context: Context,
  branch: Branch,
  reason: string,
  isRepeatable: boolean,
  outcome: "committed" | "rolled-back",
): Promise<boolean> => {
  const remembered = { outcome, reason, isRepeatable, completedAtMs: context.now(), dropped: 0 };
  const commit = await context.store.commit([
    deleteBranch(branch),
    putOutcome(branch.xid, branch.incarnation, remembered),
  ]);
  return commit.done;
};

const NO_ROOM = "a queue that it publishes to is full";
const TOO_MANY_QUEUES = `it publishes to more than ${RESERVATIONS} queues with limits`;
/** How often room is made on ring queues that others fill at the same time. */
const ROUNDS_FOR_ROOM = 8;

/** Reserves depth and makes the branch prepared, in one commit; without room it is doomed and its work undone. */
const prepare = async (context: Context, branch: Branch, after: Branch): Promise<VerbAnswer | "moved"> => {
  const operations = await loadOperations(context, branch);
  const ending = writeBranch(branch, after);
  for (let round = 0; ; round++) {
    const reserving = reservations(operations, await loadQueues(context, operations));
    if (reserving.length > RESERVATIONS) return giveUp(context, branch, TOO_MANY_QUEUES);
    const commit = await context.store.commit([ending, ...reserving]);
    if (commit.done) return { xa: "XA_OK", state: "prepared" };
    if (commit.failures.some(({ write }) => write === ending)) return "moved";
    if (round < ROUNDS_FOR_ROOM && (await makeRoomForBranch(context, operations, round === 0))) continue;
    return giveUp(context, branch, NO_ROOM);
  }
};

/** What cannot be prepared is rolled back, and stays to be told so. */
const giveUp = async (context: Context, branch: Branch, reason: string): Promise<VerbAnswer | "moved"> => {
  const doomed = await carryOutDoom(context, branch, doom(branch, reason));
  return doomed === undefined ? "moved" : { xa: "XA_RBROLLBACK", state: "rollback-only" };
};

const complete = async (
  context: Context,
  branch: Branch,
  { outcome, leaves, reason }: Extract<Effect, { effect: "complete" }>,
): Promise<VerbAnswer | "moved"> => {
  const applied = await completeBranch(context, branch, { outcome, leaves, reason, isRepeatable: true });
  switch (applied) {
    case "moved":
      return "moved";
    case "done":
      return leaves === "none"
        ? { xa: "XA_OK" }
        : { xa: "XA_OK", state: outcome === "commit" ? "heuristically-committed" : "heuristically-rolled-back" };
    case "full": {
      const undone = { outcome: "rollback", leaves: "none", reason: NO_ROOM, isRepeatable: false } as const;
      return (await completeBranch(context, branch, undone)) === "done" ? { xa: "XA_RBROLLBACK" } : "moved";
    }
  }
};
