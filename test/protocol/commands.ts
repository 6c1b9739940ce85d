/**
 * The calls of the protocol as the handlers make them: which records they read, what they decide from that, and the one
 * commit that they attempt. Everything decided here is decided by the product's own state machines.
 */
import { open, step } from "../../shared/domain/branch.ts";
import { hold, judge, lease, type Run, settle, standingOf } from "../../shared/domain/run.ts";
import { commit, end, join, mayWork, prepare, rollback } from "../../shared/domain/verb.ts";
import { type Call, isAliveIn, isFenced, nameOf, type Own, ref, type Sizes, type View } from "./call.ts";
import { acted, begins, checks, enlisted, putBranch, putRun, withLife } from "./effects.ts";
import { closing, owed } from "./meeting.ts";
import type { Rules } from "./rules.ts";
import {
  add,
  type BranchName,
  leaseOf,
  listed,
  nameOfBranch,
  nowOf,
  remove,
  sessionNames,
  settings,
  xids,
} from "./table.ts";
import { always, asActive, asKept, asSeen, carryOut, checkingSession, finishing, verb } from "./verbs.ts";

export const startCall = (x: BranchName, own: Own, sizes: Sizes): Call => ({
  id: `start ${x} in ${ref(own)}`,
  own,
  most: () => ({ reads: [own.name], names: [] }),
  decide: (view, rules) => ({
    does: `starts ${x}`,
    names: [],
    apply: (table) => {
      const lives = Object.keys(table.past.lives).filter((incarnation) => nameOfBranch(incarnation) === x).length;
      if (table[x] !== undefined || lives >= sizes.lives[x]) return undefined;
      if (rules.startChecksSession && !checks(table, view, own)) return undefined;
      const branch = open(xids[x], `${x}${lives + 1}`, own, 1, 0);
      return withLife(putBranch(table, x, branch), branch.incarnation, () => ({}));
    },
  }),
});

export const joinCall = (x: BranchName, own: Own, sizes: Sizes): Call =>
  verb("join", x, own, sizes, always, (branch, view, rules) => {
    const made = carryOut(x, branch, join(branch, own), rules, sizes);
    return made && { ...checkingSession(made, view, own, rules), does: `joins ${x}` };
  });

export const endCall = (x: BranchName, own: Own, sizes: Sizes): Call =>
  verb("end", x, own, sizes, always, (branch, _, rules) =>
    carryOut(x, branch, end(branch, xids[x], own, { suspend: false, fail: false }), rules, sizes),
  );

export const prepareCall = (x: BranchName, own: Own | undefined, sizes: Sizes): Call =>
  verb(
    "prepare",
    x,
    own,
    sizes,
    (rules) => rules.prepareNamesBranch,
    (branch, _, rules) => carryOut(x, branch, prepare(asSeen(branch, rules), 0), rules, sizes),
  );

export const commitCall = (x: BranchName, own: Own | undefined, onePhase: boolean, sizes: Sizes): Call =>
  verb(
    onePhase ? "one-phase commit" : "commit",
    x,
    own,
    sizes,
    (rules) => rules.completionNamesBranch,
    (branch, _, rules) => carryOut(x, branch, commit(asSeen(branch, rules), onePhase), rules, sizes),
  );

/** What a transaction manager that was restarted does with a branch in doubt. */
export const decideCall = (x: BranchName, outcome: "commit" | "rollback", sizes: Sizes): Call => ({
  id: `decide ${x} by ${outcome}`,
  most: (rules) => ({ reads: [x], names: rules.completionNamesBranch ? [x] : [] }),
  decide: (view, rules) => {
    const branch = view[x];
    if (branch?.state.name !== "prepared") return undefined;
    return carryOut(x, branch, outcome === "commit" ? commit(branch, false) : rollback(branch), rules, sizes);
  },
});

export const rollbackCall = (x: BranchName, own: Own | undefined, sizes: Sizes): Call =>
  verb(
    "rollback",
    x,
    own,
    sizes,
    (rules) => rules.completionNamesBranch,
    (branch, _, rules) => carryOut(x, branch, rollback(asKept(branch, rules)), rules, sizes),
  );

export const addCall = (x: BranchName, own: Own, sizes: Sizes): Call =>
  verb(
    "enqueue",
    x,
    own,
    sizes,
    (rules) => rules.workNamesBranch,
    (branch, _, rules) => {
      if (mayWork(asActive(branch, rules), xids[x], own) !== undefined || listed(branch, "add")) return undefined;
      const after = step(branch, { operations: [...branch.operations, add] });
      return {
        does: `enqueues in ${x}`,
        names: rules.workNamesBranch ? [x] : [],
        apply: (table) => enlisted(putBranch(table, x, after), branch.incarnation, own, "added"),
      };
    },
  );

export const acceptCall = (x: BranchName, own: Own, token: string, sizes: Sizes): Call => {
  const call = verb(
    "accept",
    x,
    own,
    sizes,
    (rules) => rules.workNamesBranch,
    (branch, view, rules) => {
      if (mayWork(asActive(branch, rules), xids[x], own) !== undefined || view.M === undefined) return undefined;
      if (judged(view, view.M, token, branch.incarnation, rules) !== "ok" || view.M.slots[0]?.state !== "leased")
        return undefined;
      const held = hold(view.M, [0], branch.incarnation, { xid: xids[x], deadlineMs: branch.deadlineMs, session: own });
      const after = step(branch, { operations: [...branch.operations, remove] });
      return {
        does: `accepts the message in ${x}`,
        names: [...(rules.workNamesBranch ? [x] : []), ...(rules.settlingNamesRun ? (["M"] as const) : [])],
        apply: (table) =>
          enlisted(begins(putRun(putBranch(table, x, after), held), "M"), branch.incarnation, own, "removed"),
      };
    },
  );
  const most = (rules: Rules) => {
    const { reads, names } = call.most(rules);
    return { reads: [...reads, "M"] as const, names: rules.settlingNamesRun ? ([...names, "M"] as const) : names };
  };
  return { ...call, most };
};

const judged = (view: View, run: Run, token: string, incarnation: string | undefined, rules: Rules) => {
  const slot = run.slots[0];
  const named = !rules.settlingNamesLease && slot?.state === "leased" ? slot.lease.token : token;
  return judge(slot, named, incarnation, nowOf(view, "M"), isAliveIn(view));
};

/** Outside a branch: whoever has the delivery's id may settle it. */
export const settleCall = (token: string): Call => ({
  id: `accept ${token}`,
  most: (rules) => ({ reads: ["M", ...sessionNames], names: rules.settlingNamesRun ? ["M"] : [] }),
  decide: (view, rules) => {
    const run = view.M;
    if (run === undefined || judged(view, run, token, undefined, rules) !== "ok") return undefined;
    return {
      does: "accepts the message outside any branch",
      names: rules.settlingNamesRun ? ["M"] : [],
      apply: (table) => putRun(table, settle(run, [0])),
    };
  },
});

export const acquireCall = (own: Own, token: string): Call => ({
  id: `acquire in ${ref(own)}`,
  own,
  most: (rules) => ({ reads: ["M", ...sessionNames], names: rules.acquireNamesRun ? ["M"] : [] }),
  decide: (view, rules) => {
    const run = view.M;
    const slot = run?.slots[0];
    if (run === undefined || slot === undefined || isFenced(view, own)) return undefined;
    const isAlive = isAliveIn(view);
    const standing = standingOf(run, 0, settings, nowOf(view, "M"), rules.acquireSparesLeases ? isAlive : () => false);
    const isTakeable = standing === "available" || (standing === "held" && !rules.acquireSparesHolds);
    if (!isTakeable) return undefined;
    const broken = slot.state === "leased" && !view.over.includes("M") ? slot.lease.session : undefined;
    if (broken !== undefined && !isAlive(broken)) {
      const first = closing(view, [nameOf(broken)], rules);
      if (first !== undefined) return first;
    }
    return {
      does: "takes the message",
      names: rules.acquireNamesRun ? ["M"] : [],
      apply: (table) =>
        acted(begins(putRun(table, lease(run, [0], leaseOf(token, own))), "M"), broken === undefined ? [] : [broken]),
    };
  },
});

/** Recovery of one branch: a decision is finished, the work of dead sessions and passed deadlines is undone. */
export const recoverCall = (x: BranchName, sizes: Sizes): Call => ({
  id: `recover ${x}`,
  // What it read as alive before only makes it do less: a session's end read before matters when it acts on that at once.
  most: (rules) => ({
    reads: rules.closesBeforeActing ? [x] : [x, ...sessionNames],
    names: rules.doomNamesBranch && rules.partsAreListed ? [x] : [],
  }),
  decide: (view, rules) => {
    const branch = view[x];
    if (branch?.state.name === "deciding") return finishing(x, branch, branch.state.decision, rules);
    return owed(view, x, rules, sizes);
  },
});
