import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { COUNTER_MAX } from "../../shared/domain/counter.ts";
import type { Member } from "../../shared/domain/store-status.ts";
import { generationName } from "../../shared/records/keys.ts";
import { Unreadable } from "../../shared/records/reading.ts";
import {
  type Configuration,
  changesApplied,
  foldTails,
  hasFoldRoom,
  noteTailsGone,
  readStore,
  setConfiguration,
  setCounter,
  setJoining,
  setPause,
  setShutdown,
  setStoreId,
} from "../../shared/records/store.ts";
import type { Item, Value, Write } from "../../shared/records/write.ts";
import { names, times } from "../support/arbitraries.ts";
import { stored } from "./stored.ts";

const key = { pk: "STORE", sk: "STATUS" };
const counters = fc.bigInt({ min: 0n, max: COUNTER_MAX });
const words = fc.string({ minLength: 1, maxLength: 20 });
const roles = fc.constantFrom("primary", "replica");

const members: fc.Arbitrary<Member> = fc.record(
  {
    storeId: words,
    table: words,
    endpoint: words,
    region: words,
    role: roles,
    state: fc.constantFrom("in-sync", "joining", "away"),
    told: counters,
  },
  { requiredKeys: ["storeId", "table", "role", "state"] },
);

const configurations: fc.Arbitrary<Configuration> = fc.record({
  clusterId: words,
  configChange: counters,
  configId: words,
  changeCounter: counters,
  role: roles,
  members: fc.array(members, { maxLength: 4 }),
  replicaTimeoutSeconds: fc.integer({ min: 1, max: 86_400 }),
});

/** What an update sets, as the record has it then. */
const setBy = (write: Write, before: Item = {}): Item => {
  if (write.kind !== "update") throw new Error("not an update");
  const item: Record<string, Value | undefined> = { ...before };
  for (const [[name, inner], value] of write.change.set ?? []) {
    item[name] = inner === undefined ? value : { ...(item[name] as object), [inner]: value };
  }
  for (const [[name], by] of write.change.add ?? []) item[name] = Number(item[name] ?? 0) + by;
  for (const [name, inner] of write.change.remove ?? []) {
    if (inner === undefined) delete item[name];
    else delete (item[name] as Record<string, Value>)[inner];
  }
  return stored(key, item);
};

const nothing = {
  storeId: null,
  buried: null,
  folded: null,
  base: 0n,
  configuration: null,
  shutdown: null,
  pausedUntilMs: 0,
  isJoining: false,
};

describe("the store's record", () => {
  it("says nothing where there is none", () => {
    expect(readStore(undefined)).toEqual(nothing);
    expect(readStore(stored(key, {}))).toEqual(nothing);
  });

  it("gets its id once", () => {
    const write = setStoreId("s1");
    expect(write).toMatchObject({ kind: "update", key, require: [{ is: "lacks", path: ["id"] }], otherwise: "reload" });
    expect(readStore(setBy(write))).toEqual({ ...nothing, storeId: "s1" });
  });

  it("reads its configuration as it was written, over the one that was read or over none", () => {
    fc.assert(
      fc.property(configurations, configurations, (before, configuration) => {
        const first = setConfiguration(null, before);
        expect(first.require).toEqual([{ is: "lacks", path: ["cc"] }]);
        expect(readStore(setBy(first))).toEqual({ ...nothing, configuration: before });
        const second = setConfiguration(before, configuration);
        expect(second.require).toEqual([
          { is: "equal", path: ["cc"], value: String(before.configChange) },
          { is: "equal", path: ["ci"], value: before.configId },
        ]);
        expect(readStore(setBy(second, setBy(first)))).toEqual({ ...nothing, configuration });
      }),
    );
  });

  it("notes a shutdown under the configuration that was read, and a new configuration ends it", () => {
    fc.assert(
      fc.property(configurations, counters, words, (configuration, changeCounter, shutdownId) => {
        const shutdown = { shutdownId, changeCounter };
        const write = setShutdown(configuration, shutdown);
        expect(write.require).toEqual(setConfiguration(configuration, configuration).require);
        const shut = setBy(write, setBy(setConfiguration(null, configuration)));
        expect(readStore(shut)).toEqual({ ...nothing, configuration, shutdown });
        expect(readStore(setBy(setConfiguration(configuration, configuration), shut)).shutdown).toBeNull();
      }),
    );
    expect(setShutdown(null, { shutdownId: "S", changeCounter: 1n }).require).toEqual([{ is: "lacks", path: ["cc"] }]);
  });

  it("adds up what buried queues counted, over their partitions, and names them", () => {
    const [one, two] = [
      { name: "orders", generation: "g1" },
      { name: "orders", generation: "g2" },
    ];
    const tails = [
      { enqueued: 1, settled: 20, deadLettered: 300 },
      { enqueued: 4, settled: 50, deadLettered: 600 },
    ];
    const first = foldTails(readStore(undefined), one, tails, 7);
    expect(first).toStrictEqual({
      kind: "update",
      key,
      change: {
        set: [[["f"], { "orders#g1": 7 }]],
        add: [
          [["next"], 5],
          [["settled"], 70],
          [["dead"], 900],
        ],
      },
      require: [{ is: "lacks", path: ["f"] }],
      otherwise: "reload",
    });
    const after = readStore(setBy(first));
    expect(after).toEqual({
      ...nothing,
      buried: { enqueued: 5, settled: 70, deadLettered: 900 },
      folded: new Map([["orders#g1", 7]]),
    });
    const second = foldTails(after, two, [{ enqueued: 1, settled: 1, deadLettered: 0 }], 9, [[generationName(one), 7]]);
    expect(second.require).toEqual([
      { is: "has", path: ["f"] },
      { is: "lacks", path: ["f", "orders#g2"] },
      { is: "equal", path: ["f", "orders#g1"], value: 7 },
    ]);
    expect(readStore(setBy(second, setBy(first)))).toMatchObject({
      buried: { enqueued: 6, settled: 71, deadLettered: 900 },
      folded: new Map([["orders#g2", 9]]),
    });
    expect(noteTailsGone(two, 11)).toMatchObject({
      change: { set: [[["f", "orders#g2"], 11]] },
      require: [{ is: "has", path: ["f", "orders#g2"] }],
    });
  });

  it("keeps the names of queues with their times", () => {
    fc.assert(
      fc.property(names, times, (name, nowMs) => {
        const write = foldTails(readStore(undefined), { name, generation: "g" }, [], nowMs);
        expect(readStore(setBy(write)).folded).toEqual(new Map([[`${name}#g`, nowMs]]));
      }),
    );
  });

  it("of a replica counts what its shards have applied", () => {
    expect(changesApplied([])).toBe(0n);
    expect(changesApplied([{ n: 7 }, { n: Number.MAX_SAFE_INTEGER }, { n: Number.MAX_SAFE_INTEGER }])).toBe(
      2n ** 54n + 5n,
    );
    expect(() => changesApplied([{ pk: "REPLICA#CHANGES", sk: "00" }])).toThrow("n is not an integer");
  });

  it("has its counter moved beside what else is written of it", () => {
    const id = setStoreId("s1");
    expect(readStore(setBy(setCounter(id, COUNTER_MAX)))).toEqual({ ...nothing, storeId: "s1", base: COUNTER_MAX });
    expect(setCounter(id, 1n)).toMatchObject({ key: id.key, require: id.require, otherwise: id.otherwise });
    const taken: Write = { kind: "update", key, change: { remove: [["sd"]] }, require: [], otherwise: "reload" };
    expect(setCounter(taken, 7n)).toEqual({ ...taken, change: { remove: [["sd"]], set: [[["base"], "7"]] } });
    const check: Write = { kind: "check", key, require: [], otherwise: "reload" };
    expect(setCounter(check, 7n)).toEqual(check);
  });

  it("has room for 500 names", () => {
    const withNames = (n: number) => ({
      ...readStore(undefined),
      folded: new Map(Array.from({ length: n }, (_, i) => [`q${i}#g`, 1] as const)),
    });
    expect([0, 499, 500].map((n) => hasFoldRoom(withNames(n)))).toEqual([true, true, false]);
    expect(hasFoldRoom(readStore(undefined))).toBe(true);
  });

  const good: Item = {
    ...key,
    id: "s",
    next: 1,
    settled: 2,
    dead: 3,
    f: { "q#g": 1 },
    base: "18446744073709551615",
    cl: "c",
    cc: "5",
    ci: "i",
    cp: "10",
    role: "replica",
    ms: JSON.stringify([{ storeId: "s", table: "t", role: "primary", state: "away", told: "3" }]),
    rt: 60,
    sd: "S",
    sc: "11",
    pu: 7,
    jn: true,
  };

  it("reads every field", () => {
    expect(readStore(good)).toEqual({
      storeId: "s",
      buried: { enqueued: 1, settled: 2, deadLettered: 3 },
      folded: new Map([["q#g", 1]]),
      base: COUNTER_MAX,
      configuration: {
        clusterId: "c",
        configChange: 5n,
        configId: "i",
        changeCounter: 10n,
        role: "replica",
        members: [{ storeId: "s", table: "t", role: "primary", state: "away", told: 3n }],
        replicaTimeoutSeconds: 60,
      },
      shutdown: { shutdownId: "S", changeCounter: 11n },
      pausedUntilMs: 7,
      isJoining: true,
    });
  });

  it("notes that a replica joins, until it has its configuration", () => {
    fc.assert(
      fc.property(configurations, (configuration) => {
        const joining = setBy(setJoining(), setBy(setConfiguration(null, configuration)));
        expect(readStore(joining)).toEqual({ ...nothing, configuration, isJoining: true });
        expect(readStore(setBy(setConfiguration(configuration, configuration), joining)).isJoining).toBe(false);
      }),
    );
  });

  it("pauses calls under the configuration that was read, and a new configuration ends it", () => {
    fc.assert(
      fc.property(configurations, times, (configuration, untilMs) => {
        const write = setPause(configuration, untilMs);
        expect(write.require).toEqual(setConfiguration(configuration, configuration).require);
        const paused = setBy(write, setBy(setConfiguration(null, configuration)));
        expect(readStore(paused)).toEqual({ ...nothing, configuration, pausedUntilMs: untilMs });
        expect(readStore(setBy(setConfiguration(configuration, configuration), paused)).pausedUntilMs).toBe(0);
      }),
    );
  });

  it.each(["cl", "cc", "ci", "cp", "role", "ms", "rt", "sd", "sc"])("is unreadable with %s alone", (attribute) => {
    expect(() => readStore({ ...key, [attribute]: good[attribute] })).toThrow(Unreadable);
  });

  it("takes the longest timeout of replicas", () => {
    expect(readStore({ ...good, rt: 86_400 }).configuration?.replicaTimeoutSeconds).toBe(86_400);
  });

  it.each<[string, Item]>([
    ["id is not a string", { id: 1 }],
    ["next is not an integer", { next: "1" }],
    ["settled is not an integer", { settled: 1.5 }],
    ["dead is not an integer", { dead: true }],
    ["f is not a map", { f: [] }],
    ["f.q#g is not a time", { f: { "q#g": "1" } }],
    ["f.q#g is not a time", { f: { "q#g": 1.5 } }],
    ["base is not an unsigned", { base: "18446744073709551616" }],
    ["base is not a string", { base: 5 }],
    ["cl is not a string", { cl: undefined }],
    ["cc is not an unsigned", { cc: "-1" }],
    ["cc is not a string", { cc: undefined }],
    ["ci is not a string", { ci: undefined }],
    ["cp is not an unsigned", { cp: "1.0" }],
    ["cp is not a string", { cp: undefined }],
    ["role is master", { role: "master" }],
    ["role is not a string", { role: undefined }],
    ["ms is not JSON", { ms: "[" }],
    ["ms is not a string", { ms: undefined }],
    ["ms: members must be a list", { ms: "{}" }],
    ["ms: members[0].state must be one of", { ms: '[{"storeId":"s","table":"t","role":"primary","state":"x"}]' }],
    [
      "ms: members[0].storeId is missing: it must be a text of 1 to 255 characters; members[0].state must be one of",
      { ms: '[{"table":"t","role":"primary","state":"x"}]' },
    ],
    ["rt is 0", { rt: 0 }],
    ["rt is 86401", { rt: 86_401 }],
    ["rt is not an integer", { rt: undefined }],
    ["sd is not a string", { sd: undefined }],
    ["sc is not a string", { sc: undefined }],
    ["sc is not an unsigned", { sc: "x" }],
    ["pu is not an integer", { pu: "7" }],
  ])("is unreadable when %s", (problem, wrong) => {
    const read = () => readStore({ ...good, ...wrong });
    expect(read).toThrow(Unreadable);
    expect(read).toThrow(`record STORE STATUS: ${problem}`);
  });
});
