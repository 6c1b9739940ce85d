/** What commits make of the table. */
import type { Branch } from "../../shared/domain/branch.ts";
import { type Run, release, settle } from "../../shared/domain/run.ts";
import { isAliveAt, type Session, type SessionRef } from "../../shared/domain/session.ts";
import { nameOf, ref, type View } from "./call.ts";
import {
  type BranchName,
  byText,
  type Life,
  nowOf,
  plainBranch,
  plainRun,
  plainSession,
  type RecordName,
  type SessionName,
  type World,
} from "./table.ts";

export const withLife = (table: World, incarnation: string, change: (life: Life) => Partial<Life>): World => {
  const life = table.past.lives[incarnation] ?? { added: false, removed: false, isLate: false, copies: 0 };
  const entries = Object.entries({ ...table.past.lives, [incarnation]: { ...life, ...change(life) } });
  const lives = Object.fromEntries(entries.toSorted(byText(([name]) => name)));
  return { ...table, past: { ...table.past, lives } };
};

export const decided = (table: World, incarnation: string, outcome: "commit" | "rollback"): World =>
  withLife(table, incarnation, (life) => ({
    outcome: life.outcome === undefined || life.outcome === outcome ? outcome : "both",
  }));

export const acted = (table: World, sessions: readonly SessionRef[]): World => {
  const open = sessions.filter((session) => {
    const now = table[nameOf(session)];
    return now.epoch === session.epoch && now.state === "attached";
  });
  const actedOn = [...new Set([...table.past.actedOn, ...open.map(ref)])].toSorted();
  return { ...table, past: { ...table.past, actedOn } };
};

export const begins = (table: World, record: RecordName): World => ({
  ...table,
  over: table.over.filter((each) => each !== record),
});

export const putBranch = (table: World, x: BranchName, branch: Branch | undefined): World => {
  const next = { ...table, [x]: branch && plainBranch(branch) };
  // What is gone or decided has no deadline any more.
  return branch === undefined || isPastEnding(branch) ? begins(next, x) : next;
};

export const putRun = (table: World, run: Run): World => {
  const isSettled = run.slots.every((slot) => slot.state === "settled");
  if (!isSettled) return { ...table, M: plainRun(run) };
  return { ...begins(table, "M"), M: undefined, past: { ...table.past, settled: table.past.settled + 1 } };
};

export const putSession = (table: World, name: SessionName, session: Session): World => {
  // Once its end is in the table, nothing has to be remembered of whoever acted on it.
  const actedOn = table.past.actedOn.filter((each) => each !== ref(session) || session.state === "attached");
  return { ...begins(table, name), [name]: plainSession(session), past: { ...table.past, actedOn } };
};

/** What one operation of a branch becomes; a hold that is not there any more is nothing to end. */
export const applied = (
  table: World,
  branch: Branch,
  kind: "add" | "remove",
  outcome: "commit" | "rollback",
): World => {
  if (kind === "add") {
    return outcome === "commit" ? withLife(table, branch.incarnation, (life) => ({ copies: life.copies + 1 })) : table;
  }
  const slot = table.M?.slots[0];
  if (table.M === undefined || slot?.state !== "held" || slot.incarnation !== branch.incarnation) return table;
  return putRun(table, outcome === "commit" ? settle(table.M, [0]) : release(table.M, [0], 0));
};

export const allApplied = (table: World, branch: Branch, outcome: "commit" | "rollback"): World =>
  branch.operations.reduce((so, { kind }) => applied(so, branch, kind, outcome), table);

/** A check that stands beside a commit: the record as it is then, the time as it was when the call began. */
export const checks = (table: World, view: View, own: SessionRef): boolean =>
  isAliveAt(table[nameOf(own)], own.epoch, nowOf(view, nameOf(own)));

export const isPastEnding = (branch: Branch): boolean =>
  branch.state.name === "prepared" || branch.state.name === "deciding" || branch.state.name === "heuristic";

/** Work that was listed in a branch; `isLate`: its session was fenced in the table by then. */
export const enlisted = (table: World, incarnation: string, own: SessionRef, what: "added" | "removed"): World => {
  const isLate = !isAliveAt(table[nameOf(own)], own.epoch, 0);
  return withLife(table, incarnation, (life) => ({ [what]: true, isLate: life.isLate || isLate }));
};
