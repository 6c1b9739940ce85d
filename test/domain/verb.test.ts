import { describe, expect, it } from "vitest";
import { type Branch, stateNameOf } from "../../shared/domain/branch.ts";
import { isRefusal, type Refusal } from "../../shared/domain/refusal.ts";
import {
  commit,
  decide,
  end,
  endFlags,
  forget,
  join,
  mayWork,
  prepare,
  resume,
  rollback,
  setTimeout,
  startFlags,
  startKnown,
  unknownBranch,
  type Verdict,
} from "../../shared/domain/verb.ts";
import { branchIn, here, nowMs, type Situation, situations, stranger, xid } from "./branches.ts";

/** What a command answers (`xa`, or the AMQP code of its refusal) and what becomes of the branch. */
type Cell = 404 | 409 | 503 | 530 | readonly [xa: string, becomes: string];

const codes: Partial<Record<Refusal["refusal"], Cell>> = {
  "not-found": 404,
  "illegal-state": 409,
  "command-invalid": 503,
  "not-allowed": 530,
};

/** What is left of the branch: its state and who is in it; `none` when it is gone, `same` when nothing is written. */
const told = (verdict: Verdict | undefined): Cell => {
  if (verdict === undefined) return ["OK", "same"];
  if (isRefusal(verdict)) return codes[verdict.refusal] ?? ["refused", verdict.refusal];
  switch (verdict.effect) {
    case "nothing":
      return [short(verdict.xa), "same"];
    case "store":
      return [short(verdict.xa), seen(verdict.branch)];
    case "prepare":
      return ["OK", seen(verdict.branch)];
    case "complete":
      return ["OK", verdict.leaves === "none" ? `none: ${verdict.outcome}` : `heuristic: ${verdict.outcome}`];
    case "drop":
      return [short(verdict.xa), "none: rollback"];
    case "forget":
      return ["OK", "none"];
  }
};

const short = (xa: string): string => xa.replace("XA_", "");

const seen = (branch: Branch): string => {
  const who = branch.associations.map((a) => `${a.name}${a.isSuspended ? " suspended" : ""}`);
  return [stateNameOf(branch), ...who].join(", ");
};

const all = <C>(cell: C, ...of: readonly Situation[]): Partial<Record<Situation, C>> =>
  Object.fromEntries(of.map((situation) => [situation, cell]));

const deciding = [
  "deciding to commit",
  "deciding to roll back",
  "deciding, an operator's commit",
  "deciding, an operator's rollback",
] as const;
const heuristics = ["heuristically-committed", "heuristically-rolled-back"] as const;
const open = [
  "active",
  "active, joined by another",
  "active by another only",
  "active by another, suspended here",
  "suspended",
  "suspended, by another too",
] as const;
const doomedOpen = [
  "rollback-only, active here",
  "rollback-only, suspended here",
  "rollback-only, active by another",
] as const;
const timedOut = [
  "timed-out",
  "timed-out, active here",
  "timed-out, suspended here",
  "timed-out, active by another",
] as const;

const rollsBackWhenTimedOut = all<Cell>(["RBTIMEOUT", "none: rollback"], ...timedOut);
const tellsTheHeuristic: Partial<Record<Situation, Cell>> = {
  "heuristically-committed": ["HEURCOM", "same"],
  "heuristically-rolled-back": ["HEURRB", "same"],
};

interface Row {
  readonly command: string;
  readonly run: (branch: Branch) => Verdict | undefined;
  /** Every situation has its cell. */
  readonly cells: Partial<Record<Situation, Cell>>;
}

/** The table of `docs/branch-states.md`, written from that page. A cell that the page leaves empty follows from its other rules. */
const rows: readonly Row[] = [
  { command: "start", run: startKnown, cells: all<Cell>(530, ...situations) },
  {
    command: "start join by one who is not in it",
    run: (branch) => join(branch, stranger),
    cells: {
      active: ["OK", "active, here, stranger"],
      "active, joined by another": ["OK", "active, here, other, stranger"],
      "active by another only": ["OK", "active, other, stranger"],
      "active by another, suspended here": ["OK", "active, here suspended, other, stranger"],
      suspended: ["OK", "active, here suspended, stranger"],
      "suspended, by another too": ["OK", "active, here suspended, other suspended, stranger"],
      idle: ["OK", "active, stranger"],
      ...all<Cell>(["RBROLLBACK", "same"], "rollback-only", ...doomedOpen),
      ...all<Cell>(["RBTIMEOUT", "same"], ...timedOut),
      ...all<Cell>(409, "prepared", ...heuristics),
      ...all<Cell>(530, ...deciding),
    },
  },
  {
    command: "start join by one who may be in it already",
    run: (branch) => join(branch, here),
    cells: {
      ...all<Cell>(409, ...open),
      "active by another only": ["OK", "active, other, here"],
      idle: ["OK", "active, here"],
      ...all<Cell>(["RBROLLBACK", "same"], "rollback-only", "rollback-only, active by another"),
      ...all<Cell>(409, "rollback-only, active here", "rollback-only, suspended here"),
      ...all<Cell>(["RBTIMEOUT", "same"], ...timedOut),
      ...all<Cell>(409, "prepared", ...heuristics),
      ...all<Cell>(530, ...deciding),
    },
  },
  {
    command: "start resume",
    run: (branch) => resume(branch, here),
    cells: {
      suspended: ["OK", "active, here"],
      "suspended, by another too": ["OK", "active, here, other suspended"],
      "active by another, suspended here": ["OK", "active, here, other"],
      ...all<Cell>(["OK", "same"], "active", "active, joined by another"),
      "rollback-only, suspended here": ["RBROLLBACK", "same"],
      "timed-out, suspended here": ["RBTIMEOUT", "same"],
      ...all<Cell>(503, "active by another only", "idle", "prepared", ...heuristics),
      ...all<Cell>(503, "rollback-only", "rollback-only, active here", "rollback-only, active by another"),
      ...all<Cell>(503, "timed-out", "timed-out, active here", "timed-out, active by another"),
      ...all<Cell>(530, ...deciding),
    },
  },
  {
    command: "end",
    run: (branch) => end(branch, xid, here, { suspend: false, fail: false }),
    cells: {
      active: ["OK", "idle"],
      "active, joined by another": ["OK", "active, other"],
      "active by another, suspended here": ["OK", "active, other"],
      suspended: ["OK", "idle"],
      "suspended, by another too": ["OK", "suspended, other suspended"],
      ...all<Cell>(["RBROLLBACK", "rollback-only"], "rollback-only, active here", "rollback-only, suspended here"),
      ...all<Cell>(["RBTIMEOUT", "timed-out"], "timed-out, active here", "timed-out, suspended here"),
      ...all<Cell>(409, "active by another only", "idle", "prepared", ...heuristics, ...deciding),
      ...all<Cell>(409, "rollback-only", "rollback-only, active by another"),
      ...all<Cell>(409, "timed-out", "timed-out, active by another"),
    },
  },
  {
    command: "end fail",
    run: (branch) => end(branch, xid, here, { suspend: false, fail: true }),
    cells: {
      ...all<Cell>(["RBROLLBACK", "rollback-only"], "active", "suspended"),
      "active, joined by another": ["RBROLLBACK", "rollback-only, other"],
      "active by another, suspended here": ["RBROLLBACK", "rollback-only, other"],
      "suspended, by another too": ["RBROLLBACK", "rollback-only, other suspended"],
      ...all<Cell>(["RBROLLBACK", "rollback-only"], "rollback-only, active here", "rollback-only, suspended here"),
      ...all<Cell>(["RBTIMEOUT", "timed-out"], "timed-out, active here", "timed-out, suspended here"),
      ...all<Cell>(409, "active by another only", "idle", "prepared", ...heuristics, ...deciding),
      ...all<Cell>(409, "rollback-only", "rollback-only, active by another"),
      ...all<Cell>(409, "timed-out", "timed-out, active by another"),
    },
  },
  {
    command: "end suspend",
    run: (branch) => end(branch, xid, here, { suspend: true, fail: false }),
    cells: {
      active: ["OK", "suspended, here suspended"],
      "active, joined by another": ["OK", "active, here suspended, other"],
      ...all<Cell>(409, "active by another, suspended here", "suspended", "suspended, by another too"),
      ...all<Cell>(["RBROLLBACK", "rollback-only"], "rollback-only, active here", "rollback-only, suspended here"),
      ...all<Cell>(["RBTIMEOUT", "timed-out"], "timed-out, active here", "timed-out, suspended here"),
      ...all<Cell>(409, "active by another only", "idle", "prepared", ...heuristics, ...deciding),
      ...all<Cell>(409, "rollback-only", "rollback-only, active by another"),
      ...all<Cell>(409, "timed-out", "timed-out, active by another"),
    },
  },
  {
    command: "prepare",
    run: (branch) => prepare(branch, nowMs),
    cells: {
      idle: ["OK", "prepared"],
      "rollback-only": ["RBROLLBACK", "same"],
      ...rollsBackWhenTimedOut,
      ...all<Cell>(409, ...open, ...doomedOpen, "prepared", ...heuristics, ...deciding),
    },
  },
  {
    command: "commit onePhase",
    run: (branch) => commit(branch, true),
    cells: {
      idle: ["OK", "none: commit"],
      "rollback-only": ["RBROLLBACK", "none: rollback"],
      ...rollsBackWhenTimedOut,
      ...tellsTheHeuristic,
      "deciding to commit": ["OK", "none: commit"],
      ...all<Cell>(409, ...open, ...doomedOpen, "prepared", "deciding to roll back"),
      ...all<Cell>(409, "deciding, an operator's commit", "deciding, an operator's rollback"),
    },
  },
  {
    command: "commit twoPhase",
    run: (branch) => commit(branch, false),
    cells: {
      prepared: ["OK", "none: commit"],
      "rollback-only": ["RBROLLBACK", "none: rollback"],
      ...rollsBackWhenTimedOut,
      ...tellsTheHeuristic,
      "deciding to commit": ["OK", "none: commit"],
      ...all<Cell>(409, ...open, ...doomedOpen, "idle", "deciding to roll back"),
      ...all<Cell>(409, "deciding, an operator's commit", "deciding, an operator's rollback"),
    },
  },
  {
    command: "rollback",
    run: rollback,
    cells: {
      ...all<Cell>(["OK", "none: rollback"], "idle", "rollback-only", "prepared", "deciding to roll back"),
      ...rollsBackWhenTimedOut,
      ...tellsTheHeuristic,
      ...all<Cell>(409, ...open, ...doomedOpen, "deciding to commit"),
      ...all<Cell>(409, "deciding, an operator's commit", "deciding, an operator's rollback"),
    },
  },
  {
    command: "forget",
    run: forget,
    cells: {
      ...all<Cell>(["OK", "none"], ...heuristics),
      ...all<Cell>(409, ...open, "idle", "rollback-only", ...doomedOpen, "prepared", ...timedOut, ...deciding),
    },
  },
  {
    command: "heuristic commit",
    run: (branch) => decide(branch, "commit", "the operator's reason"),
    cells: {
      ...all<Cell>(["OK", "heuristic: commit"], "prepared", "deciding, an operator's commit"),
      ...all<Cell>(409, ...open, "idle", "rollback-only", ...doomedOpen, ...timedOut, ...heuristics),
      ...all<Cell>(409, "deciding to commit", "deciding to roll back", "deciding, an operator's rollback"),
    },
  },
  {
    command: "heuristic rollback",
    run: (branch) => decide(branch, "rollback", "the operator's reason"),
    cells: {
      ...all<Cell>(["OK", "heuristic: rollback"], "prepared", "deciding, an operator's rollback"),
      ...all<Cell>(409, ...open, "idle", "rollback-only", ...doomedOpen, ...timedOut, ...heuristics),
      ...all<Cell>(409, "deciding to commit", "deciding to roll back", "deciding, an operator's commit"),
    },
  },
  {
    command: "a message call",
    run: (branch) => mayWork(branch, xid, here),
    cells: {
      ...all<Cell>(409, ...situations),
      ...all<Cell>(["OK", "same"], "active", "active, joined by another"),
    },
  },
];

describe.each(rows)("$command", ({ run, cells }) => {
  it("has a cell for every situation", () => {
    expect(Object.keys(cells).sort()).toEqual([...situations].sort());
  });

  it.each(Object.entries(cells) as [Situation, Cell][])("on %s", (situation, cell) => {
    const branch = branchIn(situation);
    const verdict = run(branch);
    expect(told(verdict)).toEqual(cell);
    // A verb changes the branch by one version at most, and never its life, its deadline or its work.
    if (verdict !== undefined && "branch" in verdict) {
      const { state, associations, workers, version, ...kept } = verdict.branch;
      expect(branch).toMatchObject(kept);
      expect(version).toBe(branch.version + 1);
    }
  });
});

/** Of an unknown xid; that `start` makes a branch is in `open`, and the 404 of the others in `unknownBranch`. */
describe("on no branch", () => {
  it.each([
    ["end", { suspend: false, fail: false }],
    ["end fail", { suspend: false, fail: true }],
    ["end suspend", { suspend: true, fail: false }],
  ])("%s is refused: nobody is associated", (_, how) => {
    expect(told(end(undefined, xid, here, how))).toBe(409);
  });

  it("a message call is refused", () => {
    expect(told(mayWork(undefined, xid, here))).toBe(409);
  });

  it("everything else is 404", () => {
    expect(told(unknownBranch(xid))).toBe(404);
  });
});

describe("flags that clash", () => {
  it.each([true, false])("start join with resume: %s", (resumes) => {
    expect(told(startFlags(true, resumes))).toEqual(resumes ? 503 : ["OK", "same"]);
    expect(told(startFlags(resumes, true))).toEqual(resumes ? 503 : ["OK", "same"]);
  });

  it.each([true, false])("end suspend with fail: %s", (fails) => {
    expect(told(endFlags(true, fails))).toEqual(fails ? 503 : ["OK", "same"]);
    expect(told(endFlags(fails, true))).toEqual(fails ? 503 : ["OK", "same"]);
  });
});

describe("set timeout", () => {
  const changed = (situation: Situation, seconds: number) => {
    const branch = branchIn(situation);
    const verdict = setTimeout(branch, seconds, nowMs);
    if (isRefusal(verdict)) return codes[verdict.refusal];
    const after = verdict.effect === "store" ? verdict.branch : branch;
    expect(stateNameOf(after)).toBe(stateNameOf(branch));
    const clock = after.deadlineMs === branch.deadlineMs ? "as it was" : after.deadlineMs - nowMs;
    return { seconds: after.timeoutSeconds, clock };
  };

  it.each<[Situation, unknown]>([
    ...[...open, "idle" as const].map((s) => [s, { seconds: 200, clock: 200_000 }] as [Situation, unknown]),
    ...["rollback-only" as const, ...doomedOpen, "prepared" as const].map(
      (s) => [s, { seconds: 200, clock: "as it was" }] as [Situation, unknown],
    ),
    ...timedOut.map((s) => [s, { seconds: 60, clock: "as it was" }] as [Situation, unknown]),
    ...[...heuristics, ...deciding].map((s) => [s, 409] as [Situation, unknown]),
  ])("on %s", (situation, expected) => {
    expect(changed(situation, 200)).toEqual(expected);
  });

  it("to 0 is back to the default", () => {
    expect(changed("active", 0)).toEqual({ seconds: 60, clock: 60_000 });
  });
});
