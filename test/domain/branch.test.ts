import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type Branch,
  doom,
  hasWork,
  isUndoing,
  meet,
  open,
  stateNameOf,
  timeoutOrDefault,
} from "../../shared/domain/branch.ts";
import { branchIn, deadlineMs, here, nowMs, other, type Situation, situations, startedMs, xid } from "./branches.ts";

type Fate = "alive" | "detached" | "dead";

const fates =
  (ofHere: Fate, ofOther: Fate = "alive") =>
  (session: { readonly name: string }): Fate =>
    session.name === "here" ? ofHere : ofOther;

/** What is left of the branch: its state and who is in it. */
const seen = (branch: Branch): string => {
  const who = branch.associations.map((a) => `${a.name}${a.isSuspended ? " suspended" : ""}`);
  return [stateNameOf(branch), ...who].join(", ");
};

const unchanged = (...of: readonly Situation[]) => of.map((situation) => [situation, "same"] as const);

const neverChanged = unchanged(
  "prepared",
  "heuristically-committed",
  "heuristically-rolled-back",
  "deciding to commit",
  "deciding to roll back",
  "deciding, an operator's commit",
  "deciding, an operator's rollback",
);

type Cells = readonly (readonly [Situation, string])[];

/** The last three rows of the table of `docs/branch-states.md`, each for a branch in which `here` and `other` have worked. */
const rows: readonly { readonly event: string; readonly meeting: (b: Branch) => Branch; readonly cells: Cells }[] = [
  {
    event: "nothing has happened",
    meeting: (branch) => meet(branch, fates("alive"), nowMs),
    cells: unchanged(...situations),
  },
  {
    event: "the session was detached",
    meeting: (branch) => meet(branch, fates("detached"), nowMs),
    cells: [
      ["active", "rollback-only"],
      ["active, joined by another", "rollback-only, other"],
      ["active by another, suspended here", "rollback-only, other"],
      ["suspended", "rollback-only"],
      ["suspended, by another too", "rollback-only, other suspended"],
      ["rollback-only, active here", "rollback-only"],
      ["rollback-only, suspended here", "rollback-only"],
      ["timed-out, active here", "timed-out"],
      ["timed-out, suspended here", "timed-out"],
      ...unchanged("active by another only", "idle", "rollback-only", "timed-out"),
      ...unchanged("rollback-only, active by another", "timed-out, active by another"),
      ...neverChanged,
    ],
  },
  {
    event: "the session has expired or was resumed",
    meeting: (branch) => meet(branch, fates("dead"), nowMs),
    cells: [
      ["active", "rollback-only"],
      ["active, joined by another", "rollback-only, other"],
      ["active by another only", "rollback-only, other"],
      ["active by another, suspended here", "rollback-only, other"],
      ["suspended", "rollback-only"],
      ["suspended, by another too", "rollback-only, other suspended"],
      ["idle", "rollback-only"],
      ["rollback-only, active here", "rollback-only"],
      ["rollback-only, suspended here", "rollback-only"],
      ["timed-out, active here", "timed-out"],
      ["timed-out, suspended here", "timed-out"],
      ...unchanged("rollback-only", "timed-out"),
      ...unchanged("rollback-only, active by another", "timed-out, active by another"),
      ...neverChanged,
    ],
  },
  {
    event: "the deadline has passed",
    meeting: (branch) => meet(branch, fates("alive"), deadlineMs),
    cells: [
      ["active", "timed-out, here"],
      ["active, joined by another", "timed-out, here, other"],
      ["active by another only", "timed-out, other"],
      ["active by another, suspended here", "timed-out, here suspended, other"],
      ["suspended", "timed-out, here suspended"],
      ["suspended, by another too", "timed-out, here suspended, other suspended"],
      ["idle", "timed-out"],
      ["rollback-only", "timed-out"],
      ["rollback-only, active here", "timed-out, here"],
      ["rollback-only, suspended here", "timed-out, here suspended"],
      ["rollback-only, active by another", "timed-out, other"],
      ...unchanged("timed-out", "timed-out, active here", "timed-out, suspended here", "timed-out, active by another"),
      ...neverChanged,
    ],
  },
];

describe.each(rows)("a branch is met when $event", ({ meeting, cells }) => {
  it("has a cell for every situation", () => {
    expect(cells.map(([situation]) => situation).sort()).toEqual([...situations].sort());
  });

  it.each(cells)("on %s → %s", (situation, expected) => {
    const branch = branchIn(situation);
    const met = meeting(branch);
    if (expected === "same") return expect(met).toBe(branch);
    expect(seen(met)).toBe(expected);
    expect(met.version).toBe(branch.version + 1);
    // Met again it is as it is: nobody writes it twice.
    expect(meeting(met)).toBe(met);
  });
});

describe("meeting a branch", () => {
  const anySituation = fc.constantFrom(...situations);
  const anyFate = fc.constantFrom<Fate>("alive", "detached", "dead");
  const anyTime = fc.constantFrom(startedMs, deadlineMs - 1, deadlineMs, deadlineMs + 1);

  it("settles it: the same look at the same moment changes nothing more", () => {
    fc.assert(
      fc.property(anySituation, anyFate, anyFate, anyTime, (situation, ofHere, ofOther, atMs) => {
        const met = meet(branchIn(situation), fates(ofHere, ofOther), atMs);
        expect(meet(met, fates(ofHere, ofOther), atMs)).toBe(met);
      }),
    );
  });

  it("leaves no association of a session that has ended, unless the branch is decided or prepared", () => {
    fc.assert(
      fc.property(anySituation, anyFate, anyFate, anyTime, (situation, ofHere, ofOther, atMs) => {
        const fate = fates(ofHere, ofOther);
        const met = meet(branchIn(situation), fate, atMs);
        expect(met.associations.filter((a) => fate(a) !== "alive")).toEqual([]);
      }),
    );
  });

  it("never touches its work, its deadline or its life: whoever stores it undoes the work", () => {
    fc.assert(
      fc.property(anySituation, anyFate, anyTime, (situation, fate, atMs) => {
        const branch = branchIn(situation);
        const { state, associations, version, ...kept } = meet(branch, fates(fate), atMs);
        expect(branch).toMatchObject(kept);
      }),
    );
  });
});

describe("a new branch", () => {
  it("is active, of one session, with its deadline ahead", () => {
    const branch = open(xid, "i", here, 90, startedMs);
    expect(seen(branch)).toBe("active, here");
    expect(branch).toMatchObject({ xid, incarnation: "i", session: "here", workers: [here], messages: 0 });
    expect([branch.operations, branch.blocks]).toEqual([[], []]);
    expect(branch.deadlineMs).toBe(startedMs + 90_000);
  });

  it("has the default timeout for 0", () => {
    expect(open(xid, "i", here, 0, startedMs).deadlineMs).toBe(startedMs + 60_000);
    expect([timeoutOrDefault(0), timeoutOrDefault(1), timeoutOrDefault(3600)]).toEqual([60, 1, 3600]);
  });

  it("begins above any version that an older life of the xid can have reached by one write a millisecond", () => {
    const older = branchIn("idle");
    expect(open(xid, "j", other, 60, startedMs + 1000).version).toBeGreaterThan(older.version + 999);
  });
});

describe("a doomed branch", () => {
  it("says whose end doomed it", () => {
    const reasonOf = ({ state }: Branch) => (state.name === "rollback-only" ? state.reason : state.name);
    const told = "ended before the branch was prepared";
    expect(reasonOf(meet(branchIn("active"), fates("detached"), nowMs))).toBe(`session here ${told}`);
    expect(reasonOf(meet(branchIn("idle"), fates("alive", "dead"), nowMs))).toBe(`session other ${told}`);
    expect(reasonOf(doom(branchIn("idle"), "no room"))).toBe("no room");
  });

  const work = { kind: "remove", id: "o", indexes: [0], bytes: 1, isWhole: true } as const;
  const run = { name: "q", generation: "g", partition: 0, position: 0 };

  it.each([
    ["on its record", { operations: [{ ...work, run }] }],
    ["in a block", { blocks: [7] }],
  ])("is being undone while it lists work %s", (_, listed) => {
    const branch = { ...branchIn("idle"), ...listed };
    expect(hasWork(branch)).toBe(true);
    expect(isUndoing(branch)).toBe(false);
    const doomed = doom(branch, "for the test");
    expect(isUndoing(doomed)).toBe(true);
    expect(isUndoing({ ...doomed, operations: [], blocks: [] })).toBe(false);
    expect(isUndoing({ ...branchIn("timed-out"), ...listed })).toBe(true);
    expect(isUndoing({ ...branchIn("prepared"), ...listed })).toBe(false);
  });
});
