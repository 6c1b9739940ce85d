import { type Branch, isUndoing, meet } from "../../domain/branch.ts";
import { fateOf, isAliveAt, type Session, type SessionRef } from "../../domain/session.ts";
import type { Xid } from "../../domain/xid.ts";
import { readBranch } from "../../records/branch.ts";
import { branchKey } from "../../records/keys.ts";
import { type Consistency, Unavailable } from "../../store/port.ts";
import type { Context } from "../context.ts";
import { loadSession, loadSessions } from "../sessions/liveness.ts";
import { carryOutDoom } from "./undo.ts";

/** How often a branch that others change at the same time is read again. */
const ROUNDS = 20;

export interface Loaded {
  /** As it is stored: what time and dead sessions did to it has been carried out. */
  readonly branch: Branch | undefined;
  /** The session that was named along, read freshly. */
  readonly session: Session | undefined;
}

/**
 * Reads a branch, meets it (deadline, dead sessions), and if that doomed it stores the doom and undoes its work before
 * anyone goes on. `along`: a session to read at the same time. `eventual` reads may be late: good enough for a write that
 * names the version, not for a refusal. The session is read freshly.
 */
export const loadBranchAnd = async (
  context: Context,
  xid: Xid,
  along: SessionRef | undefined,
  consistency: Consistency = "strong",
): Promise<Loaded> => {
  const [item, session] = await Promise.all([
    context.store.read(branchKey(xid), consistency),
    along && loadSession(context, along.name),
  ]);
  // One that is over must be closed before anything is decided from it: it is loaded again for that.
  const isAlive = session !== undefined && isAliveAt(session, session.epoch, context.now());
  const known = new Map(isAlive ? [[session.name, session]] : []);
  return { session, branch: item && (await met(context, readBranch(item), known)) };
};

export const loadBranch = async (
  context: Context,
  xid: Xid,
  consistency: Consistency = "strong",
): Promise<Branch | undefined> => (await loadBranchAnd(context, xid, undefined, consistency)).branch;

/** Meets a branch that was just read; undefined when it is gone by now. */
export const meetBranch = (context: Context, stored: Branch): Promise<Branch | undefined> =>
  met(context, stored, new Map());

const met = async (
  context: Context,
  first: Branch,
  known: ReadonlyMap<string, Session>,
): Promise<Branch | undefined> => {
  let stored = first;
  for (let round = 0; round < ROUNDS; round++) {
    const branch = await meetFreshly(context, stored, known);
    if (branch === stored && !isUndoing(stored)) return stored;
    const carriedOut = await carryOutDoom(context, stored, branch);
    if (carriedOut !== undefined) return carriedOut;
    const item = await context.store.read(branchKey(first.xid));
    if (item === undefined) return undefined;
    stored = readBranch(item);
  }
  throw new Unavailable(`branch ${first.xid} is changed by others all the time`);
};

const meetFreshly = async (context: Context, branch: Branch, known: ReadonlyMap<string, Session>): Promise<Branch> => {
  const { name } = branch.state;
  if (name === "prepared" || name === "deciding" || name === "heuristic") return branch;
  const nowMs = context.now();
  const unknown = [...branch.workers, ...branch.associations].filter((ref) => !known.has(ref.name));
  const others = unknown.length === 0 ? new Map<string, Session>() : await loadSessions(context, unknown);
  return meet(branch, (ref) => fateOf(known.get(ref.name) ?? others.get(ref.name), ref.epoch, nowMs), nowMs);
};
