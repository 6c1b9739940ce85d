import { describe, expect, it } from "vitest";
import { allChangesOf, changesOf, runKeyAt } from "../../shared/records/changes.ts";
import { runKey } from "../../shared/records/keys.ts";
import { arrivalsOf, type Held, heldAfter } from "../../shared/records/replicated.ts";
import { decideHold } from "../../shared/records/run.ts";
import type { Item } from "../../shared/records/write.ts";
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
