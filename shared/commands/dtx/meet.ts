import { type Branch, hasWork, isUndoing } from "../../domain/branch.ts";
import { REMEMBERED_SECONDS } from "../../domain/limits.ts";
import type { Hold } from "../../domain/run.ts";
import type { Xid } from "../../domain/xid.ts";
import { deleteBranch, readBranch } from "../../records/branch.ts";
import { branchKey } from "../../records/keys.ts";
import { Unreadable } from "../../records/reading.ts";
import { putOutcome } from "../../records/remembered.ts";
import type { Item } from "../../records/write.ts";
import type { Context } from "../context.ts";
import { finishDecided } from "./complete.ts";
import { meetBranch } from "./load.ts";

export interface Recovered {
  readonly branch: Branch | undefined;
  readonly did: "nothing" | "finished" | "rolled-back";
}

/**
 * Gives a branch, just read, what recovery owes it: a recorded decision is finished, the work of dead sessions and of
 * passed deadlines is undone, a time-out that nobody asked about for 24 h becomes a remembered rollback. A live branch and
 * a prepared one are left as they are.
 */
export const recoverBranch = async (context: Context, item: Item): Promise<Recovered> => {
  const stored = readBranch(item);
  if (stored.state.name === "deciding") {
    await finishDecided(context, stored);
    const left = await context.store.read(branchKey(stored.xid));
    return { branch: left && readBranch(left), did: "finished" };
  }
  const branch = await meetBranch(context, stored);
  if (branch === undefined) return { branch, did: "nothing" };
  if (await isForgotten(context, branch)) return { branch: undefined, did: "rolled-back" };
  const isNews = branch.state.name !== stored.state.name || isUndoing(stored);
  const isDoomed = branch.state.name === "rollback-only" || branch.state.name === "timed-out";
  return { branch, did: isNews && isDoomed ? "rolled-back" : "nothing" };
};

/** A time-out is kept for the client to be told; after 24 h it is only remembered. */
const isForgotten = async (context: Context, branch: Branch): Promise<boolean> => {
  if (branch.state.name !== "timed-out" || branch.associations.length > 0) return false;
  const nowMs = context.now();
  if (branch.state.timedOutAtMs + REMEMBERED_SECONDS * 1000 > nowMs) return false;
  const outcome = {
    outcome: "rolled-back",
    reason: "timed out",
    isRepeatable: false,
    completedAtMs: nowMs,
    dropped: 0,
  } as const;
  const commit = await context.store.commit([
    deleteBranch(branch),
    putOutcome(branch.xid, branch.incarnation, outcome),
  ]);
  return commit.done;
};

/** How long a prepared branch that was just met need not be met again: nothing but a decision changes it. */
const PREPARED_MET_MS = 900;
/** The same of a live one, whose sessions may end and whose timeout may be shortened at any moment. */
const LIVE_MET_MS = 250;

/**
 * Meets the branches that hold messages which someone would like to have; the holds come by incarnation. True when one of
 * them holds nothing any more: it has ended, or was doomed and its work undone. Then the run is worth reading again.
 */
export const meetBranches = async (context: Context, holds: Readonly<Record<string, Hold>>): Promise<boolean> => {
  const nowMs = context.now();
  let isNews = false;
  for (const [incarnation, { xid }] of Object.entries(holds)) {
    if (context.met.isKnown(incarnation, nowMs)) continue;
    isNews = (await meetReadable(context, incarnation, xid, nowMs)) || isNews;
  }
  return isNews;
};

/** A branch that cannot be read keeps what it holds, and stops nothing else. */
const meetReadable = async (context: Context, incarnation: string, xid: Xid, nowMs: number): Promise<boolean> => {
  try {
    return await meetOne(context, incarnation, xid, nowMs);
  } catch (error) {
    if (error instanceof Unreadable) return false;
    throw error;
  }
};

const meetOne = async (context: Context, incarnation: string, xid: Xid, nowMs: number): Promise<boolean> => {
  const item = await context.store.read(branchKey(xid));
  if (item === undefined) return true;
  const before = readBranch(item);
  // Others brought it to its end, or undid its work, after the run was read.
  if (before.incarnation !== incarnation || !hasWork(before)) return true;
  const after = await meetBranch(context, before);
  if (after?.version !== before.version) return true;
  context.met.keep(incarnation, before.state.name === "prepared" ? nowMs + PREPARED_MET_MS : metLive(before, nowMs));
  return false;
};

const metLive = (branch: Branch, nowMs: number): number => Math.min(nowMs + LIVE_MET_MS, branch.deadlineMs);
