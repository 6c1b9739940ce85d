/**
 * The calls of the protocol as the handlers make them: which records they read, what they decide from that, and the one
 * commit that they attempt. Everything decided here is decided by the product's own state machines.
 */
import { type Branch, hasWork, isUndoing, meet, open, step } from "../../shared/domain/branch.ts";
import { isRefusal } from "../../shared/domain/refusal.ts";
import { hold, judge, lease, type Run, release, settle, standingOf } from "../../shared/domain/run.ts";
import {
  attach,
  close,
  fateOf,
  fence,
  isAliveAt,
  renew,
  type Session,
  type SessionRef,
} from "../../shared/domain/session.ts";
import { commit, end, join, mayWork, prepare, rollback, type Verdict } from "../../shared/domain/verb.ts";
import type { Rules } from "./rules.ts";
import {
  add,
  type BranchName,
  byText,
  type Life,
  leaseOf,
  listed,
  nameOfBranch,
  nowOf,
  plainBranch,
  plainRun,
  plainSession,
  type RecordName,
  remove,
  type SessionName,
  sessionNames,
  settings,
  type World,
  xids,
} from "./table.ts";

/** What a call has read: each record as it was then, and whether its time was over by the caller's clock. */
export type View = World;

/** A commit: the records whose version it names, and what it makes of the table; undefined when another condition fails. */
export interface Commit {
  readonly does: string;
  readonly names: readonly RecordName[];
  readonly apply: (table: World) => World | undefined;
  /** It is a decision of this branch's outcome. */
  readonly decides?: BranchName;
}

export interface Call {
  readonly id: string;
  /** The caller's session: it is read first, or at the same time as the branch. */
  readonly own?: SessionRef & { readonly name: SessionName };
  /** The records that it may read, and of these the ones whose version it names whatever it decides. */
  readonly most: (rules: Rules) => { readonly reads: readonly RecordName[]; readonly names: readonly RecordName[] };
  readonly decide: (view: View, rules: Rules) => Commit | undefined;
}

export interface Sizes {
  /** Branches that are larger than one commit. */
  readonly large: readonly BranchName[];
  /** Lives that each xid may have. */
  readonly lives: Readonly<Record<BranchName, number>>;
}

const ref = (session: SessionRef): string => `${session.name}@${session.epoch}`;
const nameOf = (session: SessionRef): SessionName => (session.name === "S1" ? "S1" : "S2");

const isAliveIn = (view: View) => (session: SessionRef) => {
  const name = nameOf(session);
  return isAliveAt(view[name], session.epoch, nowOf(view, name));
};

const isFenced = (view: View, own: SessionRef): boolean =>
  fence(view[nameOf(own)], own, nowOf(view, nameOf(own))) !== undefined;

// ---- effects on the table

const withLife = (table: World, incarnation: string, change: (life: Life) => Partial<Life>): World => {
  const life = table.past.lives[incarnation] ?? { added: false, removed: false, copies: 0 };
  const entries = Object.entries({ ...table.past.lives, [incarnation]: { ...life, ...change(life) } });
  const lives = Object.fromEntries(entries.toSorted(byText(([name]) => name)));
  return { ...table, past: { ...table.past, lives } };
};

const decided = (table: World, incarnation: string, outcome: "commit" | "rollback"): World =>
  withLife(table, incarnation, (life) => ({
    outcome: life.outcome === undefined || life.outcome === outcome ? outcome : "both",
  }));

const acted = (table: World, sessions: readonly SessionRef[]): World => {
  const open = sessions.filter((session) => {
    const now = table[nameOf(session)];
    return now.epoch === session.epoch && now.state === "attached";
  });
  const actedOn = [...new Set([...table.past.actedOn, ...open.map(ref)])].toSorted();
  return { ...table, past: { ...table.past, actedOn } };
};

const begins = (table: World, record: RecordName): World => ({
  ...table,
  over: table.over.filter((each) => each !== record),
});

const putBranch = (table: World, x: BranchName, branch: Branch | undefined): World => {
  const next = { ...table, [x]: branch && plainBranch(branch) };
  // What is gone or decided has no deadline any more.
  return branch === undefined || isPastEnding(branch) ? begins(next, x) : next;
};

const putRun = (table: World, run: Run): World => {
  const isSettled = run.slots.every((slot) => slot.state === "settled");
  if (!isSettled) return { ...table, M: plainRun(run) };
  return { ...begins(table, "M"), M: undefined, past: { ...table.past, settled: table.past.settled + 1 } };
};

const putSession = (table: World, name: SessionName, session: Session): World => {
  // Once its end is in the table, nothing has to be remembered of whoever acted on it.
  const actedOn = table.past.actedOn.filter((each) => each !== ref(session) || session.state === "attached");
  return { ...begins(table, name), [name]: plainSession(session), past: { ...table.past, actedOn } };
};

/** What one operation of a branch becomes; a hold that is not there any more is nothing to end. */
const applied = (table: World, branch: Branch, kind: "add" | "remove", outcome: "commit" | "rollback"): World => {
  if (kind === "add") {
    return outcome === "commit" ? withLife(table, branch.incarnation, (life) => ({ copies: life.copies + 1 })) : table;
  }
  const slot = table.M?.slots[0];
  if (table.M === undefined || slot?.state !== "held" || slot.incarnation !== branch.incarnation) return table;
  return putRun(table, outcome === "commit" ? settle(table.M, [0]) : release(table.M, [0], 0));
};

const allApplied = (table: World, branch: Branch, outcome: "commit" | "rollback"): World =>
  branch.operations.reduce((so, { kind }) => applied(so, branch, kind, outcome), table);

/** A check that stands beside a commit: the record as it is then, the time as it was when the call began. */
const checks = (table: World, view: View, own: SessionRef): boolean =>
  isAliveAt(table[nameOf(own)], own.epoch, nowOf(view, nameOf(own)));

// ---- meeting a branch

const isPastEnding = (branch: Branch): boolean =>
  branch.state.name === "prepared" || branch.state.name === "deciding" || branch.state.name === "heuristic";

/** The first of these sessions whose time is over in the view and that nobody has closed. */
const closing = (view: View, names: readonly SessionName[], rules: Rules): Commit | undefined => {
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
const owed = (view: View, x: BranchName, rules: Rules, sizes: Sizes): Commit | undefined => {
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

const doom = (
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
const part = (x: BranchName, branch: Branch, outcome: "commit" | "rollback", rules: Rules): Commit => {
  const [first, ...rest] = branch.operations;
  if (first === undefined) throw new Error("a branch without work has no part");
  const names = rules.partsAreListed ? [x] : [];
  return {
    does: `${outcome === "commit" ? "applies" : "undoes"} the ${first.kind} of ${x}`,
    names,
    apply: (table) => applied(putBranch(table, x, step(branch, { operations: rest })), branch, first.kind, outcome),
  };
};

// ---- the calls

const carryOut = (x: BranchName, branch: Branch, verdict: Verdict, rules: Rules, sizes: Sizes): Commit | undefined => {
  if (isRefusal(verdict)) return undefined;
  const names = rules.completionNamesBranch ? [x] : [];
  switch (verdict.effect) {
    case "nothing":
    case "forget":
      return undefined;
    case "store":
      return {
        does: `stores ${x} as ${verdict.branch.state.name}`,
        names: [x],
        apply: (table) => putBranch(table, x, verdict.branch),
      };
    case "prepare":
      return {
        does: `prepares ${x}`,
        names: rules.prepareNamesBranch ? [x] : [],
        apply: (table) => putBranch(table, x, verdict.branch),
      };
    case "drop":
      return {
        does: `takes the doomed ${x} off the list`,
        names,
        apply: (table) => decided(putBranch(table, x, undefined), branch.incarnation, "rollback"),
      };
    case "complete":
      return completing(x, branch, verdict.outcome, rules, sizes);
  }
};

const completing = (
  x: BranchName,
  branch: Branch,
  outcome: "commit" | "rollback",
  rules: Rules,
  sizes: Sizes,
): Commit => {
  const names = rules.completionNamesBranch ? [x] : [];
  const word = outcome === "commit" ? "commits" : "rolls back";
  if (branch.state.name === "deciding") return finishing(x, branch, outcome, rules);
  if (sizes.large.includes(x)) {
    const decision = {
      outcome,
      decidedAtMs: 0,
      leaves: "none",
      reason: "",
      isRepeatable: true,
      positions: {},
      isReserved: false,
      dropped: 0,
    } as const;
    const deciding = step(branch, { state: { name: "deciding", preparedAtMs: 0, decision } });
    return {
      does: `decides that ${x} ${word}`,
      names,
      decides: x,
      apply: (table) => decided(putBranch(table, x, deciding), branch.incarnation, outcome),
    };
  }
  return {
    does: `${word} ${x}`,
    names,
    decides: x,
    apply: (table) => {
      const ended = decided(putBranch(table, x, undefined), branch.incarnation, outcome);
      return rules.completionIsWhole ? allApplied(ended, branch, outcome) : ended;
    },
  };
};

const finishing = (x: BranchName, branch: Branch, outcome: "commit" | "rollback", rules: Rules): Commit =>
  hasWork(branch)
    ? part(x, branch, outcome, rules)
    : {
        does: `takes ${x} off the list, all of it applied`,
        names: [x],
        apply: (table) => decided(putBranch(table, x, undefined), branch.incarnation, outcome),
      };

const always = (): boolean => true;

type Own = NonNullable<Call["own"]>;

/** A verb on a branch: fence, meet, decide, one commit. */
const verb = (
  word: string,
  x: BranchName,
  own: Own | undefined,
  sizes: Sizes,
  namesBranch: (rules: Rules) => boolean,
  decide: (branch: Branch, view: View, rules: Rules) => Commit | undefined,
): Call => ({
  id: `${word} ${x}${own === undefined ? "" : ` in ${ref(own)}`}`,
  ...(own !== undefined && { own }),
  most: (rules) => ({ reads: [x, ...sessionNames], names: namesBranch(rules) ? [x] : [] }),
  decide: (view, rules) => {
    if (own !== undefined && isFenced(view, own)) return undefined;
    const branch = view[x];
    return branch && (owed(view, x, rules, sizes) ?? decide(branch, view, rules));
  },
});

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
    if (made === undefined) return undefined;
    const apply = (table: World) =>
      rules.startChecksSession && !checks(table, view, own) ? undefined : made.apply(table);
    return { ...made, does: `joins ${x}`, apply };
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
    (branch, _, rules) => carryOut(x, branch, prepare(branch, 0), rules, sizes),
  );

export const commitCall = (x: BranchName, own: Own | undefined, onePhase: boolean, sizes: Sizes): Call =>
  verb(
    onePhase ? "one-phase commit" : "commit",
    x,
    own,
    sizes,
    (rules) => rules.completionNamesBranch,
    (branch, _, rules) => carryOut(x, branch, commit(branch, onePhase), rules, sizes),
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
    (branch, _, rules) => carryOut(x, branch, rollback(branch), rules, sizes),
  );

export const addCall = (x: BranchName, own: Own, sizes: Sizes): Call =>
  verb(
    "enqueue",
    x,
    own,
    sizes,
    (rules) => rules.workNamesBranch,
    (branch, _, rules) => {
      if (mayWork(branch, xids[x], own) !== undefined || listed(branch, "add")) return undefined;
      const after = step(branch, { operations: [...branch.operations, add] });
      return {
        does: `enqueues in ${x}`,
        names: rules.workNamesBranch ? [x] : [],
        apply: (table) => withLife(putBranch(table, x, after), branch.incarnation, () => ({ added: true })),
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
      if (mayWork(branch, xids[x], own) !== undefined || view.M === undefined) return undefined;
      if (judged(view, view.M, token, branch.incarnation, rules) !== "ok" || view.M.slots[0]?.state !== "leased")
        return undefined;
      const held = hold(view.M, [0], branch.incarnation, { xid: xids[x], deadlineMs: branch.deadlineMs, session: own });
      const after = step(branch, { operations: [...branch.operations, remove] });
      return {
        does: `accepts the message in ${x}`,
        names: [...(rules.workNamesBranch ? [x] : []), ...(rules.settlingNamesRun ? (["M"] as const) : [])],
        apply: (table) =>
          withLife(begins(putRun(putBranch(table, x, after), held), "M"), branch.incarnation, () => ({
            removed: true,
          })),
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

export const keepAliveCall = (own: Own): Call => ({
  id: `keep alive ${ref(own)}`,
  own,
  most: () => ({ reads: [own.name], names: [own.name] }),
  decide: (view, rules) => {
    if (rules.keepAliveIsFenced && isFenced(view, own)) return undefined;
    const renewed = renew({ ...view[own.name], epoch: own.epoch, state: "attached" }, 1, nowOf(view, own.name));
    return {
      does: `keeps ${own.name} alive`,
      names: [own.name],
      apply: (table) => putSession(table, own.name, renewed),
    };
  },
});

/** The fence of a resume: the next epoch. Recovery of the session's branches follows it. */
export const attachCall = (name: SessionName): Call => ({
  id: `resume ${name}`,
  most: () => ({ reads: [name], names: [name] }),
  decide: (view) => {
    if (view[name].epoch > 1) return undefined;
    const next = attach(view[name], name, 1, nowOf(view, name));
    return { does: `fences ${name} by epoch 2`, names: [name], apply: (table) => putSession(table, name, next) };
  },
});

/** The fence of a detach. */
export const detachCall = (name: SessionName): Call => ({
  id: `detach ${name}`,
  most: () => ({ reads: [name], names: [name] }),
  decide: (view) => {
    if (view[name].epoch > 1 || view[name].state !== "attached") return undefined;
    const closed = close(view[name], nowOf(view, name));
    return { does: `fences ${name} by closing it`, names: [name], apply: (table) => putSession(table, name, closed) };
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
    if (branch?.state.name === "deciding") return finishing(x, branch, branch.state.decision.outcome, rules);
    return owed(view, x, rules, sizes);
  },
});
