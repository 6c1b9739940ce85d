import { describe, expect, it } from "vitest";
import { allChangesOf, changesOf, runKeyAt } from "../../shared/records/changes.ts";
import { changesKey, runKey, storeKey } from "../../shared/records/keys.ts";
import { arrivalsOf, type Held, heldAfter, heldWrites } from "../../shared/records/replicated.ts";
import { putJournal, putPulse, putStone, putStones } from "../../shared/records/replication.ts";
import { decideHold } from "../../shared/records/run.ts";
import { absent, type Item, type Key, present, type Write } from "../../shared/records/write.ts";
import { runLife, settingsLife } from "../commands/replica/feeding.ts";

const permutations = <T>(all: readonly T[]): readonly (readonly T[])[] =>
  all.length <= 1 ? [all] : all.flatMap((one, i) => permutations(all.toSpliced(i, 1)).map((rest) => [one, ...rest]));

const fed = (images: readonly Item[]): { held: Held; changes: number } => {
  let held: Held = {};
  let changes = 0;
  for (const arrival of images.flatMap(arrivalsOf)) {
    const after = heldAfter(held, arrival);
    held = after.held;
    changes += after.changes;
  }
  return { held, changes };
};

describe("what a replica holds", () => {
  it.each([
    ["a run that ends", runLife(4, [1, 0, 1, 1], true)],
    ["a run that lives", runLife(4, [1, 1, 0, 1], false)],
    ["a key that is used again", settingsLife(6)],
  ])("is the same after every order of images, each of them coming twice: %s", (_, life) => {
    const inOrder = fed(life.images);
    expect(inOrder.changes).toBe(life.changes);
    expect(inOrder.held.record).toEqual(life.last);
    for (const order of permutations(life.images)) {
      expect(fed(order)).toEqual(inOrder);
      expect(fed([...order, ...order.toReversed()])).toEqual(inOrder);
    }
  });

  it("never counts back, nor more than there is", () => {
    const life = runLife(3, [1, 1], true);
    for (const order of permutations(life.images)) {
      const counted = [0, 1, 2, 3, 4].map((n) => fed(order.slice(0, n)).changes);
      expect(counted).toEqual(counted.toSorted((a, b) => a - b));
      expect(counted.at(-1)).toBe(6);
    }
  });
});

describe("the changes of a record", () => {
  it.each([
    ["QUEUE#q#g#3", "M#00000000000000000012", { name: "q", generation: "g", partition: 3, position: 12 }],
    ["QUEUE#q", "SETTINGS", undefined],
    ["QUEUE#q#g#3", "OTHER", undefined],
    ["PAYLOAD#q#g#3#12", "M#00000000000000000012", undefined],
    ["xQUEUE#q#g#3", "M#00000000000000000012", undefined],
    ["QUEUE#q#g#3x", "M#00000000000000000012", undefined],
    ["QUEUE##g#3", "M#00000000000000000012", undefined],
    ["QUEUE#q##3", "M#00000000000000000012", undefined],
    ["QUEUE#q#g#", "M#00000000000000000012", undefined],
    ["QUEUE#q#g#3", "xM#00000000000000000012", undefined],
    ["QUEUE#q#g#3", "M#00000000000000000012x", undefined],
    ["QUEUE#q#g#3", "M#12", undefined],
    [
      "QUEUE#queue#life#31",
      "M#00000000000000000012",
      { name: "queue", generation: "life", partition: 31, position: 12 },
    ],
  ])("are those of the run at %s %s", (pk, sk, key) => {
    expect(runKeyAt({ pk, sk })).toEqual(key);
    if (key !== undefined) expect(runKey(key)).toEqual({ pk, sk });
  });

  it("are its messages, and those that are settled", () => {
    const [made, one, two] = runLife(3, [1, 1], false).images;
    expect([undefined, made, one, two].map(changesOf)).toEqual([0, 3, 4, 5]);
    expect([undefined, made, one, two].map(allChangesOf)).toEqual([0, 6, 6, 6]);
    expect(changesOf(settingsLife(1).images[0])).toBe(0);
  });

  it("take a hold for settled once its branch is committed", () => {
    const item = runLife(2, [], false).images[0] as Item;
    const hold = { x: "1.0a.", t: 1, n: "s", e: 1, i: "0" };
    const heldBy = (d?: string): Item => ({
      ...item,
      s: "1h1;1a0",
      h: { inc: { ...hold, ...(d !== undefined && { d }) } },
    });
    expect([heldBy(), heldBy("a"), heldBy("s")].map(changesOf)).toEqual([2, 2, 3]);
    // As the end of a branch writes it.
    const end = decideHold({ name: "q", generation: "g", partition: 0, position: 0 }, "inc", 1, "settle", false);
    expect(end).toMatchObject({ change: { set: [[["h", "inc", "d"], "s"]] } });
  });
});

const imageOf = (write: Write): Item => (write.kind === "put" ? { ...write.item, ...write.key } : {});

describe("an image", () => {
  const key: Key = { pk: "QUEUE#q", sk: "SETTINGS" };
  const other: Key = { pk: "PAYLOAD#o", sk: "0000" };
  const mark = { stamp: 5_000_000, commit: "c" };
  const stone = (of: Key, more: Item = { tx: "c" }) => ({
    is: "stone",
    key: of,
    item: { pk: `STONE#${of.pk}`, sk: of.sk, rv: 5_000_000, ttl: 90_005, ...more },
  });

  it.each<[string, Item]>([
    ["the store's own status", { ...storeKey, rv: 1 }],
    ["what the replica keeps for itself", { ...changesKey("00"), n: 3 }],
    ["a journal", imageOf(putJournal({ commit: "c", stamp: 1, writes: [], after: [] }))],
  ])("of %s brings nothing", (_, image) => {
    expect(arrivalsOf(image)).toEqual([]);
  });

  it.each<[string, Item]>([
    ["a record", { ...key, rv: 1, tx: "c", a: "x" }],
    ["a pulse", imageOf(putPulse(3))],
    ["a record beside the status", { pk: storeKey.pk, sk: "OTHER" }],
    ["a record that is called as the status is, elsewhere", { pk: "OTHER", sk: storeKey.sk }],
  ])("of %s brings it as it is", (_, image) => {
    expect(arrivalsOf(image)).toEqual([{ is: "record", key: { pk: image.pk, sk: image.sk }, item: image }]);
  });

  it("of stones brings each, and the same as if it came alone", () => {
    const all = arrivalsOf(imageOf(putStones("id", [key, other], mark)));
    expect(all).toStrictEqual([stone(key), stone(other)]);
    expect(arrivalsOf(imageOf(putStone(key, mark)))).toStrictEqual([stone(key)]);
  });

  it("of a stone says nothing of a commit or an end that it has not", () => {
    expect(arrivalsOf(imageOf(putStone(key, { stamp: 5_000_000 })))).toStrictEqual([stone(key, {})]);
    const { pk, sk } = stone(key).item;
    expect(arrivalsOf({ pk, sk, rv: 1 })).toStrictEqual([{ is: "stone", key, item: { pk, sk, rv: 1 } }]);
  });
});

describe("what is written of what a replica holds", () => {
  const key: Key = { pk: "QUEUE#q", sk: "SETTINGS" };
  const stoneKey: Key = { pk: "STONE#QUEUE#q", sk: "SETTINGS" };
  const record = (rv?: number): Item => ({ ...key, ...(rv !== undefined && { rv }) });
  const stone = (rv: number, c?: number): Item => ({ ...stoneKey, rv, ...(c !== undefined && { c }) });
  const version = (value: number) => ({ is: "equal", path: ["rv"], value });
  const otherwise = "reload";

  it("is nothing when nothing changes", () => {
    const held = { record: record(1), stone: stone(1) };
    expect(heldWrites(key, held, { ...held })).toEqual([]);
    expect(heldWrites(key, {}, {})).toEqual([]);
  });

  it("is the first record, where still nothing is", () => {
    expect(heldWrites(key, {}, { record: record(1) })).toEqual([
      { kind: "put", key, item: record(1), require: [absent], otherwise },
      { kind: "check", key: stoneKey, require: [absent], otherwise },
    ]);
  });

  it("is a newer record, where the older one and its stone still are", () => {
    expect(heldWrites(key, { record: record(), stone: stone(0) }, { record: record(2), stone: stone(0) })).toEqual([
      { kind: "put", key, item: record(2), require: [present, { is: "lacks", path: ["rv"] }], otherwise },
      {
        kind: "put",
        key: stoneKey,
        item: stone(0),
        require: [present, version(0), { is: "lacks", path: ["c"] }],
        otherwise,
      },
    ]);
  });

  it("is a stone for the record that it takes away", () => {
    expect(heldWrites(key, { record: record(1) }, { stone: stone(2) })).toEqual([
      { kind: "delete", key, require: [present, version(1)], otherwise },
      { kind: "put", key: stoneKey, item: stone(2), require: [absent], otherwise },
    ]);
  });

  it("is what a stone counts, if it still counted what was read", () => {
    const before = { stone: stone(2, 3) };
    expect(heldWrites(key, before, { stone: stone(2, 4) })).toEqual([
      { kind: "check", key, require: [absent], otherwise },
      {
        kind: "put",
        key: stoneKey,
        item: stone(2, 4),
        require: [present, version(2), { is: "equal", path: ["c"], value: 3 }],
        otherwise,
      },
    ]);
  });
});

describe("what comes after what is held", () => {
  const key: Key = { pk: "QUEUE#q", sk: "SETTINGS" };
  const record = (rv: number, a: string): Item => ({ ...key, rv, a });
  const stone = (rv: number, a: string): Item => ({ pk: "STONE#QUEUE#q", sk: "SETTINGS", rv, a });
  const at = (item: Item, is: "record" | "stone") => ({ is, key, item });

  it("leaves what is as new or newer", () => {
    const held = { record: record(5, "held"), stone: stone(4, "held") };
    for (const rv of [1, 4, 5]) expect(heldAfter(held, at(record(rv, "came"), "record")).held).toEqual(held);
    for (const rv of [1, 4]) expect(heldAfter(held, at(stone(rv, "came"), "stone")).held).toEqual(held);
  });

  it("takes a newer record beside its stone, and a newer stone for the record or only for the stone", () => {
    const held = { record: record(5, "held"), stone: stone(3, "held") };
    const newer = record(6, "came");
    expect(heldAfter(held, at(newer, "record")).held).toEqual({ record: newer, stone: held.stone });
    for (const rv of [4, 5]) {
      const came = stone(rv, "came");
      expect(heldAfter(held, at(came, "stone")).held).toEqual({ record: held.record, stone: came });
    }
    const last = stone(6, "came");
    expect(heldAfter(held, at(last, "stone")).held).toEqual({ record: undefined, stone: last });
  });

  it("takes a first record without a version, and none that a stone is newer than", () => {
    expect(heldAfter({}, at(key as unknown as Item, "record")).held).toEqual({ record: key, stone: undefined });
    const dead = { stone: stone(3, "held") };
    expect(heldAfter(dead, at(record(2, "came"), "record")).held).toEqual({ record: undefined, stone: dead.stone });
    const again = record(4, "came");
    expect(heldAfter(dead, at(again, "record")).held).toEqual({ record: again, stone: dead.stone });
  });

  it("counts nothing on the stone of what is no run", () => {
    const came = stone(6, "came");
    expect(heldAfter({ record: record(5, "held") }, at(came, "stone"))).toEqual({
      held: { record: undefined, stone: came },
      changes: 0,
    });
    expect(heldAfter({}, at(came, "stone")).held.stone).toStrictEqual(came);
  });

  it("counts nothing of a run that is as new as its stone, and keeps what is counted in a newer stone", () => {
    const [image] = runLife(3, [], false).images;
    if (image === undefined) throw new Error("a life begins with an image");
    const run: Key = { pk: String(image.pk), sk: String(image.sk) };
    const dead = (rv: number, c: number): Item => ({ pk: `STONE#${run.pk}`, sk: run.sk, rv, c });
    const asNew = { stone: dead(7, 0) };
    expect(heldAfter(asNew, { is: "record", key: run, item: { ...image, rv: 7 } })).toEqual({
      held: { record: undefined, stone: asNew.stone },
      changes: 0,
    });
    const { c: _, ...newer } = dead(8, 0);
    expect(heldAfter({ stone: dead(7, 6) }, { is: "stone", key: run, item: newer })).toEqual({
      held: { record: undefined, stone: dead(8, 6) },
      changes: 0,
    });
  });
});
