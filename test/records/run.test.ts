import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { heldBy, liveCount, type Run, release, settle } from "../../shared/domain/run.ts";
import { parseXid } from "../../shared/domain/xid.ts";
import { runKey } from "../../shared/records/keys.ts";
import { Unreadable } from "../../shared/records/reading.ts";
import { decideHold, positionOf, putNewRun, readRun, runItem, writeRun } from "../../shared/records/run.ts";
import type { Item } from "../../shared/records/write.ts";
import { runs } from "./run-arbitraries.ts";
import { plain, stored } from "./stored.ts";

const asStored = (run: Run): Item => stored(runKey(run.key), runItem(run));

describe("a run's record", () => {
  it("reads back as the run that was written", () => {
    fc.assert(
      fc.property(runs, (run) => {
        expect(plain(readRun(asStored(run), run.key))).toEqual(plain(run));
      }),
    );
  });

  it("tells its own position", () => {
    fc.assert(fc.property(runs, (run) => positionOf(asStored(run)) === run.key.position));
  });

  it("sorts by position as the table does", () => {
    const positions = fc.nat(Number.MAX_SAFE_INTEGER);
    fc.assert(
      fc.property(runs, positions, positions, (run, a, b) => {
        const sk = (position: number) => runKey({ ...run.key, position }).sk;
        expect(sk(a) < sk(b)).toBe(a < b);
      }),
    );
  });

  it("is at most a few bytes a message when its messages are alike", () => {
    const alike: Run = {
      key: { name: "q", generation: "g", partition: 0, position: 0 },
      version: 1,
      createdAtMs: 1_800_000_000_000,
      messageIdBase: "0123456789ab",
      slots: Array.from({ length: 100 }, () => ({ state: "available", deliveries: 0, visibleAtMs: 0 })),
      sizes: Array.from({ length: 100 }, () => 1024),
      overheadBytes: 40,
      expiries: Array.from({ length: 100 }, () => 0),
      dropAtMs: 0,
      holds: {},
      payload: { kind: "chunks", owner: "q#g#0#0", firsts: [0] },
    };
    expect(JSON.stringify(runItem(alike)).length).toBeLessThan(200);
    const item = { ...runKey(alike.key), v: 1, live: 100, c: 1_800_000_000_000, id: "0123456789ab" };
    expect(runItem(alike)).toStrictEqual({ ...item, s: "100a0", z: "100*1024", o: 40, f: "0" });
    expect(readRun(runItem(alike), alike.key)).toEqual(alike);
    const xid = parseXid("1.00.");
    if (xid === undefined) throw new Error("that is an xid");
    const over = { xid, deadlineMs: 1, session: { name: "s", epoch: 1 } };
    expect(runItem({ ...alike, holds: { i1: over } })).toStrictEqual(runItem(alike));
  });
});

describe("what a hold was decided to be", () => {
  const withHolds = runs.filter((run) => Object.keys(run.holds).length > 0);
  const decided = (run: Run, incarnation: string, word: "s" | "a"): Item => {
    const { h, ...rest } = asStored(run);
    const holds = h as Record<string, Item>;
    return { ...rest, h: { ...holds, [incarnation]: { ...holds[incarnation], d: word } } };
  };
  /** The holds that are left, as the run's own transitions would leave them. */
  const without = (run: Run, incarnation: string) =>
    Object.fromEntries(Object.entries(run.holds).filter(([name]) => name !== incarnation));

  it.each([
    ["settled", "s", settle],
    ["available again, at once", "a", (run: Run, indexes: readonly number[]) => release(run, indexes, 0)],
  ] as const)("reads as %s", (_, word, transition) => {
    fc.assert(
      fc.property(withHolds, (run) => {
        for (const incarnation of Object.keys(run.holds)) {
          const read = readRun(decided(run, incarnation, word), run.key);
          const { slots } = transition(run, heldBy(run, incarnation));
          expect(plain(read)).toEqual(plain({ ...run, slots, holds: without(run, incarnation) }));
        }
      }),
    );
  });

  it("is folded into the slots by the next rewriting", () => {
    fc.assert(
      fc.property(withHolds, fc.constantFrom("s" as const, "a" as const), (run, word) => {
        for (const incarnation of Object.keys(run.holds)) {
          const read = readRun(decided(run, incarnation, word), run.key);
          expect(plain(readRun(asStored(read), run.key))).toEqual(plain(read));
          expect(runItem(read).live).toBe(liveCount(read));
        }
      }),
    );
  });

  it("is written only while nobody has decided it", () => {
    const key = { name: "q", generation: "g", partition: 0, position: 7 };
    const undecided = [
      { is: "has", path: ["h", "i1"] },
      { is: "lacks", path: ["h", "i1", "d"] },
    ];
    const common = { key: runKey(key), otherwise: "reload" };
    expect(decideHold(key, "i1", 3, "settle", false)).toEqual({
      kind: "update",
      ...common,
      change: {
        set: [[["h", "i1", "d"], "s"]],
        add: [
          [["v"], 1],
          [["live"], -3],
        ],
      },
      require: [...undecided, { is: "more-than", path: ["live"], value: 3 }],
    });
    expect(decideHold(key, "i1", 3, "settle", true)).toEqual({
      kind: "delete",
      ...common,
      require: [...undecided, { is: "equal", path: ["live"], value: 3 }],
    });
    const released = {
      kind: "update",
      ...common,
      change: { set: [[["h", "i1", "d"], "a"]], add: [[["v"], 1]] },
      require: undecided,
    };
    expect(decideHold(key, "i1", 3, "release", true)).toEqual(released);
    expect(decideHold(key, "i1", 3, "release", false)).toEqual(released);
  });
});

describe("writing a run", () => {
  it("deletes it with its last message, and names the version that was read", () => {
    fc.assert(
      fc.property(runs, (run) => {
        const after = settle(run, [...run.slots.keys()]);
        expect(writeRun(run, after)).toEqual({
          kind: "delete",
          key: runKey(run.key),
          require: [{ is: "version", version: run.version }],
          otherwise: "reload",
        });
      }),
    );
  });

  it("puts it while a message is left", () => {
    fc.assert(
      fc.property(
        runs.filter((run) => liveCount(run) > 0),
        (run) => {
          const write = writeRun(run, { ...run, version: run.version + 1 });
          expect(write).toEqual({
            kind: "put",
            key: runKey(run.key),
            item: runItem({ ...run, version: run.version + 1 }),
            require: [{ is: "version", version: run.version }],
            otherwise: "reload",
          });
        },
      ),
    );
  });

  it("of a new run needs that nothing is there", () => {
    fc.assert(
      fc.property(runs, (run) => {
        expect(putNewRun(run)).toEqual({
          kind: "put",
          key: runKey(run.key),
          item: runItem(run),
          require: [{ is: "absent" }],
          otherwise: "reload",
        });
      }),
    );
  });
});

describe("a run's record that is broken", () => {
  const key = { name: "q", generation: "g", partition: 0, position: 0 };
  const good: Item = {
    ...runKey(key),
    v: 3,
    live: 2,
    c: 1,
    id: "base",
    s: "1a0;1l1.0;1h1;1s",
    z: "4*10",
    o: 5,
    l: JSON.stringify([["token", 99]]),
    h: { i1: { x: "1.00.", t: 5, n: "s", e: 1, i: "2" } },
    b: new Uint8Array(),
  };

  it("is told from one that is not", () => {
    expect(readRun(good, key).slots).toHaveLength(4);
  });

  it.each<[string, Item]>([
    ["no version", { v: undefined }],
    ["a version that is no number", { v: "3" }],
    ["a version that is no integer", { v: 1.5 }],
    ["no slots", { s: undefined }],
    ["a slot of no known state", { s: "4x0" }],
    ["slots that are no segments", { s: "" }],
    ["a lease that is not there", { l: undefined }],
    ["leases that are no JSON", { l: "[" }],
    ["fewer sizes than messages", { z: "3*10" }],
    ["sizes that are no numbers", { z: "a,b,c,d" }],
    ["a message held by nobody", { h: undefined }],
    ["holds that are no map", { h: "i1" }],
    ["a hold without a branch", { h: { i1: { t: 5, n: "s", e: 1, i: "2" } } }],
    ["a hold of what is no xid", { h: { i1: { x: "01.00.", t: 5, n: "s", e: 1, i: "2" } } }],
    ["a hold without a session", { h: { i1: { x: "1.00.", t: 5, e: 1, i: "2" } } }],
    ["a hold of no indexes", { h: { i1: { x: "1.00.", t: 5, n: "s", e: 1 } } }],
    ["neither bodies nor chunks", { b: undefined }],
    ["chunks that are no numbers", { b: undefined, f: "x" }],
    ["expiries of other messages", { e: "1,2" }],
    ["a drop time that is no number", { d: "soon" }],
    ["no creation time", { c: undefined }],
    ["no message id base", { id: 7 }],
  ])("has %s", (_, broken) => {
    expect(() => readRun({ ...good, ...broken }, key)).toThrow(Unreadable);
  });

  it.each<[string, Item]>([
    ['"4x0" is not a segment of slots', { s: "4x0" }],
    ['"x4a0" is not a segment of slots', { s: "x4a0" }],
    ['"4a0x" is not a segment of slots', { s: "4a0x" }],
    ["stands for 3 values, not 4", { z: "3*10" }],
    ["there is no lease 0", { l: "[]" }],
    ["a message is held by nobody", { h: {} }],
    ["hold i1 is broken", { h: { i1: { t: 5, n: "s", e: 1, i: "2" } } }],
    ["hold i1 is broken", { h: { i1: { x: "1.00.", t: "5", n: "s", e: 1, i: "2" } } }],
    ["hold i1 is broken", { h: { i1: { x: "1.00.", t: 5, n: "s", e: "1", i: "2" } } }],
    ["hold i1 is broken", { h: { i1: "2" } }],
    ["hold i1 is broken", { h: { i1: { x: "1.00.", t: 5, n: "s", e: 1 } } }],
    ["f is not a string", { b: undefined }],
  ])("is told apart: %s", (problem, broken) => {
    expect(() => readRun({ ...good, ...broken }, key)).toThrow(problem);
  });

  it("leases to nobody where it has no leases", () => {
    const { l: _, ...without } = good;
    expect(() => readRun(without, key)).toThrow(new Unreadable(good, "there is no lease 0"));
  });

  it.each(["SETTINGS", "xM#00000000000000000001", "M#00000000000000000001x", "M#1"])(
    "has a key as no run: %s",
    (sk) => {
      const item: Item = { pk: "QUEUE#q#g#0", sk };
      expect(() => positionOf(item)).toThrow(new Unreadable(item, "is not a run"));
    },
  );

  it("is named by its key", () => {
    expect(() => readRun({ ...good, v: undefined }, key)).toThrow(/QUEUE#q#g#0 M#0{20}/);
  });
});
