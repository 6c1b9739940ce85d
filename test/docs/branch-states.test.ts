import { describe, expect, it } from "vitest";
import {
  type Association,
  type Branch,
  type BranchState,
  type Decision,
  meet,
  open,
  stateNameOf,
} from "../../shared/domain/branch.ts";
import { isRefusal, type Refusal } from "../../shared/domain/refusal.ts";
import {
  commit,
  decide,
  end,
  forget,
  join,
  mayWork,
  prepare,
  resume,
  rollback,
  setTimeout,
  startKnown,
  unknownBranch,
  type Verdict,
} from "../../shared/domain/verb.ts";
import { deadlineMs, here, nowMs, other, startedMs, xid } from "../domain/branches.ts";
import { page, section, tableRows } from "./markdown.ts";

const text = page("docs/branch-states.md");

type Standing = "active" | "suspended" | "not in it";

/** A branch with `here` and `other` standing so; both have worked in it. */
interface Case {
  readonly branch: Branch;
  readonly column: string;
  readonly us: Standing;
  readonly others: Standing;
}

const decision = (outcome: "commit" | "rollback", leaves: "none" | "heuristic"): Decision => ({
  outcome,
  decidedAtMs: nowMs,
  leaves,
  reason: "",
  isRepeatable: true,
  positions: {},
  isReserved: false,
  dropped: 0,
});

const heuristic = (outcome: "commit" | "rollback") =>
  ({ name: "heuristic", outcome, reason: "", preparedAtMs: nowMs, completedAtMs: nowMs }) as const;

/** Every state that may be associated with sessions, and every one that may not. */
const loose: readonly BranchState[] = [
  { name: "open" },
  { name: "rollback-only", reason: "" },
  { name: "timed-out", timedOutAtMs: deadlineMs },
];
const firm: readonly BranchState[] = [
  { name: "prepared", preparedAtMs: nowMs },
  heuristic("commit"),
  heuristic("rollback"),
  ...(["none", "heuristic"] as const).flatMap((leaves) =>
    (["commit", "rollback"] as const).map(
      (outcome) => ({ name: "deciding", preparedAtMs: nowMs, decision: decision(outcome, leaves) }) as const,
    ),
  ),
];

const standings: readonly Standing[] = ["active", "suspended", "not in it"];

const association = (session: typeof here, standing: Standing): readonly Association[] =>
  standing === "not in it" ? [] : [{ ...session, isSuspended: standing === "suspended" }];

const caseOf = (state: BranchState, us: Standing, others: Standing): Case => {
  const associations = [...association(here, us), ...association(other, others)];
  const branch = { ...open(xid, "i", here, 60, startedMs), state, associations, workers: [here, other] };
  return { branch, column: columnOf(branch), us, others };
};

const columnOf = (branch: Branch): string => {
  if (branch.state.name === "rollback-only" && branch.associations.length > 0) return "rollback-only, in use";
  if (branch.state.name !== "deciding") return shortName(stateNameOf(branch));
  const { outcome, leaves } = branch.state.decision;
  return leaves === "none" ? `${outcome} decided` : `an operator's ${outcome}`;
};

const shortName = (state: string): string => (state.startsWith("heuristically") ? "heuristic" : state);

/** Every branch there can be, as far as one call can tell. */
const cases: readonly Case[] = [
  ...loose.flatMap((state) => standings.flatMap((us) => standings.map((others) => caseOf(state, us, others)))),
  ...firm.map((state) => caseOf(state, "not in it", "not in it")),
];

interface Call {
  /** Which branches the row speaks of, by how the caller and the other session stand to them. */
  readonly of?: (us: Standing, others: Standing) => boolean;
  readonly verb: (branch: Branch) => Verdict | undefined;
  readonly onNone: number | string | undefined;
}

const isIn = (us: Standing) => us !== "not in it";
const notIn = (us: Standing) => us === "not in it";
const isActive = (us: Standing) => us === "active";
const isSuspended = (us: Standing) => us === "suspended";
const plain = { suspend: false, fail: false };
const amqp: Partial<Record<Refusal["refusal"], number>> = {
  "not-found": 404,
  "illegal-state": 409,
  "command-invalid": 503,
  "not-allowed": 530,
};
const code = (refusal: Refusal | Verdict | undefined) => (isRefusal(refusal) ? amqp[refusal.refusal] : undefined);
const unknown = code(unknownBranch(xid));
const endOnNone = code(end(undefined, xid, here, plain));
const endHere = (how: Partial<typeof plain>) => (branch: Branch) => end(branch, xid, here, { ...plain, ...how });
const startOnNone = `OK → ${stateNameOf(open(xid, "i", here, 60, startedMs))}`;

const calls: Readonly<Record<string, Call>> = {
  start: { verb: startKnown, onNone: startOnNone },
  "start with join, not in it": { of: notIn, verb: (b) => join(b, here), onNone: unknown },
  "start with join, in it": { of: isIn, verb: (b) => join(b, here), onNone: undefined },
  "start with resume, suspended here": { of: isSuspended, verb: (b) => resume(b, here), onNone: undefined },
  "start with resume, active here": { of: isActive, verb: (b) => resume(b, here), onNone: undefined },
  "start with resume, not in it": { of: notIn, verb: (b) => resume(b, here), onNone: unknown },
  "end, nobody else in it": { of: (us, others) => isIn(us) && notIn(others), verb: endHere({}), onNone: undefined },
  "end, another active in it": {
    of: (us, others) => isIn(us) && isActive(others),
    verb: endHere({}),
    onNone: undefined,
  },
  "end, another suspended in it": {
    of: (us, others) => isIn(us) && isSuspended(others),
    verb: endHere({}),
    onNone: undefined,
  },
  "end with fail, in it": { of: isIn, verb: endHere({ fail: true }), onNone: undefined },
  "end with suspend, no other active in it": {
    of: (us, others) => isActive(us) && !isActive(others),
    verb: endHere({ suspend: true }),
    onNone: undefined,
  },
  "end with suspend, another active in it": {
    of: (us, others) => isActive(us) && isActive(others),
    verb: endHere({ suspend: true }),
    onNone: undefined,
  },
  "end with suspend, suspended here": { of: isSuspended, verb: endHere({ suspend: true }), onNone: undefined },
  "end, not in it": { of: notIn, verb: endHere({}), onNone: endOnNone },
  prepare: { verb: (b) => prepare(b, nowMs), onNone: unknown },
  "commit with onePhase": { verb: (b) => commit(b, true), onNone: unknown },
  commit: { verb: (b) => commit(b, false), onNone: unknown },
  rollback: { verb: rollback, onNone: unknown },
  forget: { verb: forget, onNone: unknown },
  heuristic: { verb: (b) => decide(b, "commit", ""), onNone: unknown },
  "heuristic commit": { verb: (b) => decide(b, "commit", ""), onNone: unknown },
  "heuristic rollback": { verb: (b) => decide(b, "rollback", ""), onNone: unknown },
  "set timeout": { verb: (b) => setTimeout(b, 200, nowMs), onNone: unknown },
  "a message call, active here": { of: isActive, verb: (b) => mayWork(b, xid, here), onNone: undefined },
  "a message call, not active here": {
    of: (us) => !isActive(us),
    verb: (b) => mayWork(b, xid, here),
    onNone: code(mayWork(undefined, xid, here)),
  },
};

/** The cell as the code would write it. */
const cellOf = (branch: Branch, verdict: Verdict | undefined): string => {
  if (verdict === undefined) return "OK";
  if (isRefusal(verdict)) return String(code(verdict));
  const [xa, after] = toldBy(branch, verdict);
  return after === shortName(stateNameOf(branch)) ? xa : `${xa} → ${after}`;
};

const toldBy = (branch: Branch, verdict: Exclude<Verdict, Refusal>): readonly [string, string] => {
  switch (verdict.effect) {
    case "nothing":
      return [verdict.xa.slice(3), shortName(stateNameOf(branch))];
    case "store":
      return [verdict.xa.slice(3), shortName(stateNameOf(verdict.branch))];
    case "prepare":
      return ["OK", stateNameOf(verdict.branch)];
    case "complete":
      return ["OK", verdict.leaves];
    case "drop":
      return [verdict.xa.slice(3), "none"];
    case "forget":
      return ["OK", "none"];
  }
};

/** What setting it does to the branch, in the words of the page. */
const timeoutCell = (branch: Branch): string => {
  const verdict = setTimeout(branch, 200, nowMs);
  if (isRefusal(verdict)) return String(code(verdict));
  if (verdict.effect !== "store") return "no effect";
  return verdict.branch.deadlineMs === branch.deadlineMs ? "stored" : "restarts the clock";
};

type Fate = "alive" | "detached" | "dead";

const metCell = (branch: Branch, fate: Fate, atMs: number): string => {
  const met = meet(branch, ({ name }) => (name === here.name ? fate : "alive"), atMs);
  const after = shortName(stateNameOf(met));
  const before = shortName(stateNameOf(branch));
  // Who leaves it may leave it suspended or idle; only a doom is an event of its own.
  return after === before || (met.state.name === branch.state.name && after !== before) ? "stays" : after;
};

interface Event {
  readonly of?: (us: Standing) => boolean;
  readonly cell: (branch: Branch) => string;
}

const events: Readonly<Record<string, Event>> = {
  "a session in it is detached": { of: isIn, cell: (b) => metCell(b, "detached", nowMs) },
  "a session that has ended its part is detached": { of: notIn, cell: (b) => metCell(b, "detached", nowMs) },
  "a session that worked in it expires, or is resumed under a newer epoch": {
    cell: (b) => metCell(b, "dead", nowMs),
  },
  "its deadline passes": { cell: (b) => metCell(b, "alive", deadlineMs) },
};

interface Cell {
  readonly row: string;
  readonly column: string;
  readonly says: string;
}

/** The cells of a table, each with its row's and its column's name. */
const cellsOf = (heading: string): readonly Cell[] => {
  const [head = [], ...rows] = tableRows(section(text, heading));
  return rows.flatMap(([row = "", ...cells]) => cells.map((says, i) => ({ row, column: head[i + 1] ?? "", says })));
};

/** All answers of the branches that a cell speaks of, joined as the page joins those of the two heuristic outcomes. */
const answers = (column: string, of: Call["of"], cell: (branch: Branch) => string): string => {
  const meant = cases.filter((one) => one.column === column && (of === undefined || of(one.us, one.others)));
  return [...new Set(meant.map(({ branch }) => cell(branch)))].join(" / ") || "–";
};

describe.each(["Verbs", "Deciding"])("%s", (heading) => {
  it.each(cellsOf(heading))("$row | $column", ({ row, column, says }) => {
    const call = calls[row];
    if (call === undefined) throw new Error(`the page names a call that is none: ${row}`);
    if (column === "none") expect(says).toBe(String(call.onNone ?? "–"));
    else expect(says).toBe(answers(column, call.of, (branch) => cellOf(branch, call.verb(branch))));
  });
});

describe("Setting the timeout", () => {
  it.each(cellsOf("Setting the timeout"))("$row | $column", ({ column, says }) => {
    expect(says).toBe(column === "none" ? String(unknown) : answers(column, undefined, timeoutCell));
  });
});

describe("What sessions and time do", () => {
  it.each(cellsOf("What sessions and time do"))("$row | $column", ({ row, column, says }) => {
    const event = events[row];
    if (event === undefined) throw new Error(`the page names an event that is none: ${row}`);
    expect(says).toBe(answers(column, event.of, event.cell));
  });
});

describe("the page", () => {
  it("has every call and event, and a column for every state", () => {
    const rows = (...headings: readonly string[]) => new Set(headings.flatMap(cellsOf).map(({ row }) => row));
    const columns = (...headings: readonly string[]) => new Set(headings.flatMap(cellsOf).map(({ column }) => column));
    expect(rows("Verbs", "Deciding")).toEqual(new Set(Object.keys(calls)));
    expect(rows("What sessions and time do")).toEqual(new Set(Object.keys(events)));
    expect(columns("Verbs", "Deciding")).toEqual(new Set(["none", ...cases.map(({ column }) => column)]));
    expect(columns("Verbs")).toEqual(columns("Setting the timeout"));
    expect(new Set(["none", ...columns("What sessions and time do")])).toEqual(columns("Verbs"));
  });
});
