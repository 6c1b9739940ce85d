import { beforeAll, describe, expect, it } from "vitest";
import { bringInto, type Cast, type Situation, stateIn, TIMED_OUT_AFTER_MS } from "../support/branch-states.ts";
import type { Client } from "../support/client.ts";
import type { Answer } from "../support/http.ts";
import { expectOk, expectRefused, newQueue, newSession, stateOf, take } from "../support/moves.ts";
import { wait } from "../support/poll.ts";
import type { ProblemCode } from "../support/problems.ts";
import { useService } from "../support/service.ts";
import type { XaAnswer } from "../support/shapes.ts";

/**
 * The state table of `docs/branch-states.md`, cell by cell. A row is a command and who gives it; a cell is what it answers in one situation, and the state that
 * `GET /dtx/{xid}` tells afterwards. A refusal, and a status that says nothing of a change, must leave the whole branch as it was.
 */
interface Row {
  readonly command: string;
  readonly by: keyof Cast;
  readonly run: (c: Client, xid: string) => Promise<Answer<unknown>>;
  readonly cells: Partial<Record<Situation, Cell>>;
}

type Cell =
  | { readonly refused: ProblemCode }
  /** `state` "same": nothing at all has changed; else the state after. `xa` is left out where the command answers none. */
  | { readonly xa?: string; readonly state: string };

const to = (state: string): Cell => ({ xa: "XA_OK", state });
const rbRollback = (state: string): Cell => ({ xa: "XA_RBROLLBACK", state });
const rbTimeout = (state: string): Cell => ({ xa: "XA_RBTIMEOUT", state });
const heuristic = {
  "heuristically-committed": { xa: "XA_HEURCOM", state: "same" },
  "heuristically-rolled-back": { xa: "XA_HEURRB", state: "same" },
} as const;
/** The contract's AMQP codes, by the problem that carries each. */
const e404: Cell = { refused: "not-found" };
const e409: Cell = { refused: "illegal-state" };
const e503: Cell = { refused: "command-invalid" };
const e530: Cell = { refused: "not-allowed" };

/** The same cell in every one of these situations. */
const all = (cell: Cell, ...situations: readonly Situation[]): Partial<Record<Situation, Cell>> =>
  Object.fromEntries(situations.map((situation) => [situation, cell]));

const running = ["active", "active, joined by another", "suspended"] as const;
const doomedOpen = ["rollback-only, active here", "rollback-only, suspended here"] as const;
const timedOutOpen = ["timed-out, active here", "timed-out, suspended here"] as const;
const timedOut = ["timed-out", ...timedOutOpen] as const;
const decided = ["heuristically-committed", "heuristically-rolled-back"] as const;
const known = [...running, "idle", "rollback-only", ...doomedOpen, "prepared", ...timedOut, ...decided] as const;
const every = ["none", ...known] as const;

const rows: readonly Row[] = [
  {
    command: "start",
    by: "here",
    run: (c, xid) => c.start(xid),
    cells: { none: to("active"), ...all(e530, ...known) },
  },
  {
    command: "start join",
    by: "stranger",
    run: (c, xid) => c.start(xid, { join: true }),
    cells: {
      none: e404,
      ...all(to("active"), ...running, "idle"),
      ...all(rbRollback("same"), "rollback-only", ...doomedOpen),
      ...all(rbTimeout("same"), ...timedOut),
      ...all(e409, "prepared", ...decided),
    },
  },
  {
    command: "start join by a session already associated",
    by: "here",
    run: (c, xid) => c.start(xid, { join: true }),
    cells: all(e409, ...running),
  },
  {
    command: "start resume by the session that suspended",
    by: "here",
    run: (c, xid) => c.start(xid, { resume: true }),
    cells: {
      suspended: to("active"),
      "rollback-only, suspended here": rbRollback("same"),
      "timed-out, suspended here": rbTimeout("same"),
    },
  },
  {
    command: "start resume by a session that is active",
    by: "here",
    run: (c, xid) => c.start(xid, { resume: true }),
    cells: { active: to("active"), "active, joined by another": to("active") },
  },
  {
    command: "start resume with nothing suspended here",
    by: "stranger",
    run: (c, xid) => c.start(xid, { resume: true }),
    cells: { none: e404, ...all(e503, ...known) },
  },
  {
    command: "start join+resume",
    by: "here",
    run: (c, xid) => c.start(xid, { join: true, resume: true }),
    cells: all(e503, ...every),
  },
  {
    command: "end suspend+fail",
    by: "here",
    run: (c, xid) => c.end(xid, { suspend: true, fail: true }),
    cells: all(e503, ...every),
  },
  {
    command: "end by an associated session",
    by: "here",
    run: (c, xid) => c.end(xid),
    cells: {
      active: to("idle"),
      "active, joined by another": to("active"),
      suspended: to("idle"),
      ...all(rbRollback("rollback-only"), ...doomedOpen),
      ...all(rbTimeout("timed-out"), ...timedOutOpen),
    },
  },
  {
    command: "end fail by an associated session",
    by: "here",
    run: (c, xid) => c.end(xid, { fail: true }),
    cells: {
      ...all(rbRollback("rollback-only"), ...running, ...doomedOpen),
      ...all(rbTimeout("timed-out"), ...timedOutOpen),
    },
  },
  {
    command: "end suspend by an associated session",
    by: "here",
    run: (c, xid) => c.end(xid, { suspend: true }),
    cells: {
      active: to("suspended"),
      "active, joined by another": to("active"),
      suspended: e409,
      "timed-out, active here": rbTimeout("timed-out"),
    },
  },
  { command: "end by another session", by: "stranger", run: (c, xid) => c.end(xid), cells: all(e409, ...every) },
  {
    command: "end suspend by another session",
    by: "stranger",
    run: (c, xid) => c.end(xid, { suspend: true }),
    cells: all(e409, ...every),
  },
  {
    command: "prepare",
    by: "stranger",
    run: (c, xid) => c.prepare(xid),
    cells: {
      none: e404,
      idle: to("prepared"),
      "rollback-only": rbRollback("same"),
      ...all(e409, ...running, ...doomedOpen, "prepared", ...decided),
      ...all(rbTimeout("rolled-back"), ...timedOut),
    },
  },
  {
    command: "commit onePhase",
    by: "stranger",
    run: (c, xid) => c.commit(xid, { onePhase: true }),
    cells: {
      none: e404,
      idle: to("committed"),
      "rollback-only": rbRollback("rolled-back"),
      ...all(e409, ...running, ...doomedOpen, "prepared"),
      ...all(rbTimeout("rolled-back"), ...timedOut),
      ...heuristic,
    },
  },
  {
    command: "commit twoPhase",
    by: "stranger",
    run: (c, xid) => c.commit(xid, { onePhase: false }),
    cells: {
      none: e404,
      prepared: to("committed"),
      "rollback-only": rbRollback("rolled-back"),
      ...all(e409, ...running, ...doomedOpen, "idle"),
      ...all(rbTimeout("rolled-back"), ...timedOut),
      ...heuristic,
    },
  },
  {
    command: "rollback",
    by: "stranger",
    run: (c, xid) => c.rollback(xid),
    cells: {
      none: e404,
      ...all(to("rolled-back"), "idle", "rollback-only", "prepared"),
      ...all(e409, ...running, ...doomedOpen),
      ...all(rbTimeout("rolled-back"), ...timedOut),
      ...heuristic,
    },
  },
  {
    command: "forget",
    by: "stranger",
    run: (c, xid) => c.forget(xid),
    cells: {
      none: e404,
      ...all(e409, ...running, "idle", "rollback-only", ...doomedOpen, "prepared", ...timedOut),
    },
  },
  {
    command: "heuristic",
    by: "stranger",
    run: (c, xid) => c.heuristic(xid, "commit"),
    cells: {
      none: e404,
      prepared: { state: "heuristically-committed" },
      ...all(e409, ...running, "idle", "rollback-only", ...doomedOpen, ...timedOut, ...decided),
    },
  },
  {
    command: "set timeout",
    by: "stranger",
    run: (c, xid) => c.setTimeout(xid, 100),
    cells: {
      none: e404,
      active: { state: "active" },
      "active, joined by another": { state: "active" },
      suspended: { state: "suspended" },
      idle: { state: "idle" },
      ...all({ state: "rollback-only" }, "rollback-only", ...doomedOpen),
      prepared: { state: "prepared" },
      ...all({ state: "timed-out" }, ...timedOut),
      ...all(e409, ...decided),
    },
  },
  {
    command: "get timeout",
    by: "stranger",
    run: (c, xid) => c.getTimeout(xid),
    cells: { none: e404, ...all({ state: "same" }, ...known) },
  },
  {
    command: "a publish in the branch by the first session",
    by: "here",
    run: (c, xid) => c.within(xid).enqueue(queue, [{ body: "in the branch" }]),
    cells: {
      ...all({ state: "active" }, "active", "active, joined by another"),
      ...all(e409, "none", "suspended", "idle", "rollback-only", ...doomedOpen, "prepared", ...timedOut, ...decided),
    },
  },
  {
    command: "a publish in the branch by another session",
    by: "stranger",
    run: (c, xid) => c.within(xid).enqueue(queue, [{ body: "in the branch" }]),
    cells: all(e409, ...every),
  },
  {
    command: "an accept in the branch by another session",
    by: "stranger",
    run: (c, xid) => c.within(xid).accept([leased]),
    cells: all(e409, ...every),
  },
  {
    command: "an accept in the branch where the state forbids it",
    by: "here",
    run: (c, xid) => c.within(xid).accept([leased]),
    cells: all(e409, "none", "suspended", "idle", "rollback-only", ...doomedOpen, "prepared", ...timedOut, ...decided),
  },
];

const service = useService();
let cast: Cast;
let queue: string;
let leased: string;
/** The branches that had to time out before the tests began, by `<row>/<situation>`. */
const timedOutBranches = new Map<string, string>();

beforeAll(async () => {
  const c = service.client;
  cast = { here: await newSession(c), joined: await newSession(c), stranger: await newSession(c) };
  queue = await newQueue(c, ["leased"]);
  leased = (await take(cast.stranger, queue, 1, 600))[0]?.deliveryId ?? "";
  for (const row of rows)
    for (const situation of timedOut)
      if (row.cells[situation] !== undefined)
        timedOutBranches.set(`${row.command}/${situation}`, await bringInto(situation, cast));
  await wait(TIMED_OUT_AFTER_MS);
});

describe.each(rows)("$command", (row) => {
  it.each(Object.entries(row.cells) as [Situation, Cell][])("on %s", async (situation, cell) => {
    const c = service.client;
    const xid = timedOutBranches.get(`${row.command}/${situation}`) ?? (await bringInto(situation, cast));
    expect(await stateOf(c, xid)).toBe(stateIn(situation));
    const before = await viewOf(c, xid);
    const answer = await row.run(cast[row.by], xid);
    if ("refused" in cell) {
      expectRefused(answer, cell.refused);
      expect(await viewOf(c, xid)).toEqual(before);
      return;
    }
    expect(answer.problem).toBeUndefined();
    if (cell.xa !== undefined) expect((answer.body as XaAnswer).xa).toBe(cell.xa);
    if (cell.state === "same") expect(await viewOf(c, xid)).toEqual(before);
    else expect(await stateOf(c, xid)).toBe(cell.state);
  });
});

describe("recover", () => {
  it("lists prepared and heuristically completed branches and no other", async () => {
    const listed = { prepared: "", "heuristically-committed": "", "heuristically-rolled-back": "" };
    for (const situation of ["prepared", ...decided] as const) listed[situation] = await bringInto(situation, cast);
    const others = [
      ...(await Promise.all([...running, "idle" as const, "rollback-only" as const].map((s) => bringInto(s, cast)))),
      ...timedOutBranches.values(),
    ];
    const states = new Map((await service.client.recover()).map((branch) => [branch.xid, branch.state]));
    for (const [state, xid] of Object.entries(listed)) expect(states.get(xid)).toBe(state);
    expect(others.filter((xid) => states.has(xid))).toEqual([]);
  });
});

/** Everything that the service tells of the branch: what a refused command may not change. */
async function viewOf(c: Client, xid: string): Promise<unknown> {
  const answer = await c.getBranch(xid);
  return answer.problem === undefined ? expectOk(answer) : answer.problem.code;
}
