import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { changed } from "../../shared/records/changed.ts";
import {
  commitOf,
  endOf,
  journalKey,
  markAttributes,
  noteSeen,
  olderThan,
  pulseKey,
  putJournal,
  putPulse,
  putStone,
  putStones,
  readJournal,
  readStones,
  stampOf,
  stoneKey,
} from "../../shared/records/replication.ts";
import { absent, type Change, type Item, type Key, type Value, type Write } from "../../shared/records/write.ts";
import { plain, stored } from "./stored.ts";

const stamp = 1_800_000_000_000_001;
const END = 1_800_000_001 + 25 * 3_600;

/** As it comes back from the table. */
const itemOf = (write: Write): Item => (write.kind === "put" ? stored(write.key, write.item) : {});

describe("a version and a commit", () => {
  it("are read from what was marked", () => {
    const item = markAttributes({ stamp: 7, commit: "c" });
    expect(item).toEqual({ rv: 7, tx: "c" });
    expect([stampOf(item), commitOf(item)]).toEqual([7, "c"]);
  });

  it("of a single record are a version alone", () => {
    const item = markAttributes({ stamp: 7 });
    expect(Object.keys(item)).toEqual(["rv"]);
    expect([stampOf(item), commitOf(item)]).toEqual([7, undefined]);
  });

  it("are 0 and none for a record that never was replicated, or is not there", () => {
    for (const item of [undefined, {}, { rv: "7", tx: 7 }]) {
      expect([stampOf(item), commitOf(item)]).toEqual([0, undefined]);
    }
  });

  it("are older than another by a term of their own", () => {
    expect(olderThan(7)).toEqual({ is: "older", stamp: 7 });
  });
});

describe("the end of stones and journals", () => {
  it("is 25 h after their version, in whole seconds, never sooner", () => {
    expect(endOf({ stamp })).toBe(END);
    expect(endOf({ stamp: stamp - 1 })).toBe(END - 1);
    expect(endOf({ stamp, commit: "c" })).toBe(END);
  });
});

describe("a pulse", () => {
  it("takes the place of the one before, with a version of now", () => {
    expect(putPulse(12)).toEqual({
      kind: "put",
      key: { pk: "PULSE", sk: "PULSE" },
      item: { rv: 12_000 },
      require: [],
      otherwise: "reload",
    });
    expect(putPulse(12).key).toEqual(pulseKey);
  });
});

describe("the stone of a record", () => {
  const key = { pk: "QUEUE#q", sk: "SETTINGS" };

  it("lies beside it under a name of its own, and takes no younger one's place", () => {
    expect(stoneKey(key)).toEqual({ pk: "STONE#QUEUE#q", sk: "SETTINGS" });
    expect(putStone(key, { stamp, commit: "c" })).toEqual({
      kind: "put",
      key: stoneKey(key),
      item: { rv: stamp, tx: "c", ttl: END },
      require: [olderThan(stamp)],
      otherwise: "reload",
    });
  });
});

describe("the stones of a commit", () => {
  const keys: readonly Key[] = [
    { pk: "QUEUE#q#g#0", sk: "M#1" },
    { pk: "PAYLOAD#x", sk: "0000" },
  ];

  it("are a record of their own", () => {
    expect(putStones("id", keys, { stamp, commit: "c" })).toEqual({
      kind: "put",
      key: { pk: "STONES#id", sk: "STONES" },
      item: {
        ks: [
          ["QUEUE#q#g#0", "M#1"],
          ["PAYLOAD#x", "0000"],
        ],
        rv: stamp,
        tx: "c",
        ttl: END,
      },
      require: [absent],
      otherwise: "reload",
    });
  });

  it("read back as the keys of what was deleted", () => {
    const key = fc.record({ pk: fc.string({ minLength: 1 }), sk: fc.string({ minLength: 1 }) });
    fc.assert(
      fc.property(fc.array(key), (deleted) => {
        expect(readStones(itemOf(putStones("id", deleted, { stamp })))).toEqual(deleted);
      }),
    );
  });

  it.each<[string, Item]>([
    ["another record, even with such a list", { pk: "QUEUE#q", sk: "SETTINGS", ks: [["a", "b"]] }],
    ["the stone of one record", { pk: "STONE#QUEUE#q", sk: "SETTINGS", ks: [["a", "b"]] }],
    ["a record whose name only contains it", { pk: "xSTONES#id", sk: "STONES", ks: [["a", "b"]] }],
    ["one without a list", { pk: "STONES#id", sk: "STONES" }],
  ])("are none in %s", (_, item) => {
    expect(readStones(item)).toBeUndefined();
  });
});

const keys = fc.record({ pk: fc.string({ minLength: 1 }), sk: fc.string({ minLength: 1 }) });
const attributes = fc.stringMatching(/^[a-z]{1,6}$/);
const leaves: fc.Arbitrary<Value> = fc.oneof(
  fc.string(),
  fc.integer(),
  fc.boolean(),
  fc.constant(null),
  fc.uint8Array({ maxLength: 20 }),
);
const { values } = fc.letrec<{ values: Value }>((tie) => ({
  values: fc.oneof(
    { maxDepth: 3 },
    leaves,
    fc.array(tie("values"), { maxLength: 4 }),
    fc.dictionary(attributes, tie("values"), { maxKeys: 4 }),
  ),
}));
const paths = fc.tuple(attributes, fc.array(attributes, { maxLength: 2 })).map(([first, rest]) => [first, ...rest]);
const changes = fc.record(
  {
    set: fc.array(fc.tuple(paths, values), { maxLength: 3 }),
    add: fc.array(fc.tuple(paths, fc.integer()), { maxLength: 3 }),
    append: fc.array(fc.tuple(paths, fc.array(values, { maxLength: 3 })), { maxLength: 3 }),
    remove: fc.array(paths, { maxLength: 3 }),
  },
  { requiredKeys: [] },
) as unknown as fc.Arbitrary<Change>;
const rest = { require: fc.constant([absent]), otherwise: fc.constant("reload" as const) };
const put = fc.record({
  kind: fc.constant("put" as const),
  key: keys,
  item: fc.dictionary(attributes, values, { maxKeys: 5 }),
  ...rest,
});
const update = fc.record({ kind: fc.constant("update" as const), key: keys, change: changes, ...rest });
const deletion = fc.record({ kind: fc.constant("delete" as const), key: keys, ...rest });
const check = fc.record({ kind: fc.constant("check" as const), key: keys, ...rest });
const writes: fc.Arbitrary<Write> = fc.oneof(put, update, deletion, check);

describe("a journal", () => {
  const empty = { commit: "c", stamp, writes: [], after: [] };

  it("lies under the name of its commit, until its end", () => {
    expect(putJournal(empty)).toEqual({
      kind: "put",
      key: { pk: "JOURNAL#c", sk: "JOURNAL" },
      item: { ws: [], rv: stamp, ttl: END },
      require: [],
      otherwise: "reload",
    });
  });

  it("gives back every write but the checks, without what they asked for", () => {
    fc.assert(
      fc.property(fc.array(writes, { maxLength: 6 }), fc.array(fc.string(), { maxLength: 3 }), (all, after) => {
        const read = readJournal(itemOf(putJournal({ commit: "c", stamp, writes: all, after })));
        const kept = all.filter(({ kind }) => kind !== "check").map((write) => ({ ...write, require: [] }));
        expect(plain(read)).toEqual(plain({ commit: "c", stamp, writes: kept, after, isSeen: false }));
      }),
    );
  });

  it("gives back each kind of write", () => {
    const of = { require: [], otherwise: "reload" } as const;
    const all: readonly Write[] = [
      { kind: "put", key: { pk: "A", sk: "1" }, item: { b: new Uint8Array([1]), l: [1, "x"], m: { y: null } }, ...of },
      {
        kind: "update",
        key: { pk: "B", sk: "2" },
        change: { set: [[["m", "x"], true]], add: [[["n"], -1]], append: [[["l"], ["z"]]], remove: [["r"]] },
        ...of,
      },
      { kind: "delete", key: { pk: "C", sk: "3" }, ...of },
    ];
    const checked: Write = { kind: "check", key: { pk: "D", sk: "4" }, ...of };
    const read = readJournal(itemOf(putJournal({ ...empty, writes: [...all, checked] })));
    expect(plain(read?.writes)).toEqual(plain(all));
    const gone = all.map((write): Write => ({ ...write, require: [absent] }));
    expect(plain(readJournal(itemOf(putJournal({ ...empty, writes: gone })))?.writes)).toEqual(plain(all));
  });

  it("has of a write what it does, and no more", () => {
    const of = { require: [], otherwise: "reload" } as const;
    const change: Change = { remove: [["r"]] };
    const all: readonly Write[] = [
      { kind: "put", key: { pk: "A", sk: "1" }, item: { a: 1 }, ...of },
      { kind: "update", key: { pk: "B", sk: "2" }, change, ...of },
      { kind: "delete", key: { pk: "C", sk: "3" }, ...of },
    ];
    const journal = putJournal({ ...empty, writes: all });
    expect(journal.kind === "put" && journal.item.ws).toStrictEqual([
      { k: ["A", "1"], put: { a: 1 } },
      { k: ["B", "2"], up: change },
      { k: ["C", "3"] },
    ]);
  });

  it("is of commits before it only if it says so", () => {
    expect(Object.keys(itemOf(putJournal(empty))).sort()).toEqual(["pk", "rv", "sk", "ttl", "ws"]);
    expect(itemOf(putJournal({ ...empty, after: ["a", "b"] })).af).toEqual(["a", "b"]);
  });

  it("is seen once that is noted, and only where there is one", () => {
    const seen = noteSeen("c");
    expect(seen).toMatchObject({
      kind: "update",
      key: journalKey("c"),
      require: [{ is: "present" }],
      otherwise: "reload",
    });
    const item = itemOf(putJournal(empty));
    const noted = seen.kind === "update" ? changed(item, seen.change) : item;
    expect(readJournal(item)?.isSeen).toBe(false);
    expect(readJournal(noted)).toEqual({ ...empty, isSeen: true });
    expect(readJournal({ ...item, ex: 1 })?.isSeen).toBe(false);
  });

  it.each<[string, Item]>([
    ["another record, even with such a list", { pk: "QUEUE#q", sk: "SETTINGS", ws: [] }],
    ["a record whose name only contains it", { pk: "xJOURNAL#c", sk: "JOURNAL", ws: [] }],
    ["one without a list", { pk: "JOURNAL#c", sk: "JOURNAL" }],
  ])("is none in %s", (_, item) => {
    expect(readJournal(item)).toBeUndefined();
  });
});
