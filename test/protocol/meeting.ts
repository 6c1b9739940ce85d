/** What whoever reads a branch owes it before going on: its deadline and its dead sessions are carried out. */
import { type Branch, hasWork, isUndoing, meet, step } from "../../shared/domain/branch.ts";
import { close, fateOf, type SessionRef } from "../../shared/domain/session.ts";
import { type Commit, isAliveIn, nameOf, type Sizes, type View } from "./call.ts";
import { acted, allApplied, applied, decided, putBranch, putSession } from "./effects.ts";
import type { Rules } from "./rules.ts";
import { type BranchName, nowOf, type SessionName, type World } from "./table.ts";

/** The first of these sessions whose time is over in the view and that nobody has closed. */
export const closing = (view: View, names: readonly SessionName[], rules: Rules): Commit | undefined => {
  const name = names.find(
    (each) => view[each].state === "attached" && !isAliveIn(view)({ name: each, epoch: view[each].epoch }),
  );
  if (name === undefined || !rules.closesBeforeActing) return undefined;
  const closed = close(view[name], nowOf(view, name));
  return {
    does: `closes ${name}, whose time is over`,
    names: [name],
    apply: (table) => putSession(table, name, closed),
  };
};

/** What anyone who reads a branch owes it before going on: nothing, or one commit. */
export const owed = (view: View, x: BranchName, rules: Rules, sizes: Sizes): Commit | undefined => {
  const stored = view[x];
  if (stored === undefined || stored.state.name === "deciding") return undefined;
  const isForced = stored.state.name === "prepared" && !rules.preparedIsKept;
  const seen = isForced ? ({ ...stored, state: { name: "open" } } as const) : stored;
  const fate = (session: SessionRef) => fateOf(view[nameOf(session)], session.epoch, nowOf(view, nameOf(session)));
  const met = meet(seen, rules.verbsMeetSessions ? fate : () => "alive", nowOf(view, x));
  if (met === seen && !(isUndoing(stored) && rules.undoingGoesOn)) return undefined;
  const dead = [...stored.workers, ...stored.associations].filter((session) => fate(session) !== "alive");
  return closing(view, dead.map(nameOf), rules) ?? doom(x, stored, met, dead, rules, sizes);
};

/** A branch that is doomed as `met` says, or whose undoing goes on. `dead`: the sessions whose end is acted on. */
export const doom = (
  x: BranchName,
  stored: Branch,
  met: Branch,
  dead: readonly SessionRef[],
  rules: Rules,
  sizes: Sizes,
): Commit => {
  const names = rules.doomNamesBranch ? [x] : [];
  const isNews = met.state.name !== stored.state.name;
  const because = isNews ? `finds ${x} ${met.state.name}` : `goes on undoing ${x}`;
  const note = (table: World) => acted(decided(table, stored.incarnation, "rollback"), isNews ? dead : []);
  if (!hasWork(stored)) return { does: because, names, apply: (table) => note(putBranch(table, x, met)) };
  if (!sizes.large.includes(x)) {
    const bare = { ...met, operations: [] };
    return {
      does: `${because} and undoes its work`,
      names,
      apply: (table) => note(allApplied(putBranch(table, x, bare), stored, "rollback")),
    };
  }
  if (isNews || (met !== stored && !isUndoing(stored)))
    return { does: because, names, apply: (table) => note(putBranch(table, x, met)) };
  return { ...part(x, met, "rollback", rules), names };
};

/** One part of a large branch: an operation is applied in the commit that takes it off the list. */
export const part = (x: BranchName, branch: Branch, outcome: "commit" | "rollback", rules: Rules): Commit => {
  const [first, ...rest] = branch.operations;
  if (first === undefined) throw new Error("a branch without work has no part");
  const names = rules.partsAreListed ? [x] : [];
  return {
    does: `${outcome === "commit" ? "applies" : "undoes"} the ${first.kind} of ${x}`,
    names,
    apply: (table) => applied(putBranch(table, x, step(branch, { operations: rest })), branch, first.kind, outcome),
  };
};
