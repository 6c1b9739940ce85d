import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { applyImages } from "../../../shared/commands/replica/apply.ts";
import { Fenced } from "../../../shared/commands/replica/commit-fed.ts";
import { changesPk, shards, storeKey } from "../../../shared/records/keys.ts";
import { journalKey, stoneKey } from "../../../shared/records/replication.ts";
import type { Item } from "../../../shared/records/write.ts";
import { useTable } from "../../support/table.ts";
import { countedOn, expected, journalsOf, type Life, livesOf, runLife, settingsLife, shown } from "./feeding.ts";

const table = useTable();
const replica = () => table.call().store;

/** Feeds the batches, and gives the changes that were counted meanwhile. */
const fed = async (batches: readonly (readonly Item[])[]): Promise<number> => {
  const before = await countedOn(replica());
  for (const batch of batches) await applyImages(replica(), batch);
  return (await countedOn(replica())) - before;
};

const permutations = <T>(all: readonly T[]): readonly (readonly T[])[] =>
  all.length <= 1 ? [all] : all.flatMap((one, i) => permutations(all.toSpliced(i, 1)).map((rest) => [one, ...rest]));

const expectShown = async (lives: readonly Life[]): Promise<void> => {
  for (const life of lives) expect(await shown(replica(), life)).toEqual(expected(life));
};

describe("what a replica is fed with", () => {
  const orders = permutations([0, 1, 2, 3]);
  /** Image by image, and cut in between; what one batch comes to is decided by records/replicated.ts alone. */
  const cuts: readonly (<T>(all: readonly T[]) => readonly (readonly T[])[])[] = [
    (all) => all.map((one) => [one]),
    (all) => [all.slice(0, 2), all.slice(2)],
  ];

  it.each(cuts.map((cut, i) => [["image by image", "in halves"][i], cut] as const))(
    "comes to the same in every order, %s",
    async (_, cut) => {
      for (const order of orders) {
        const lives = [runLife(3, [1, 1], true), runLife(3, [1, 0, 1], false), settingsLife(4), settingsLife(3)];
        await applyImages(replica(), lives.flatMap(journalsOf));
        const images = order.map((at) => lives.flatMap(({ images }) => images.slice(at, at + 1)));
        expect(await fed(cut(images).map((batch) => batch.flat()))).toBe(6 + 5);
        await expectShown(lives);
      }
    },
  );

  it("comes to the same in any order, again and again, from two at once", async () => {
    await fc.assert(
      fc.asyncProperty(livesOf, fc.infiniteStream(fc.nat()), async (lives, draws) => {
        const shuffled = (all: readonly Item[]): readonly Item[] =>
          all
            .map((one) => [draws.next().value ?? 0, one] as const)
            .toSorted(([a], [b]) => a - b)
            .map(([, one]) => one);
        const batchesOf = (all: readonly Item[]): readonly (readonly Item[])[] => {
          const size = 1 + ((draws.next().value ?? 0) % 7);
          return Array.from({ length: Math.ceil(all.length / size) }, (_, i) => all.slice(i * size, (i + 1) * size));
        };
        const images = lives.flatMap((life) => life.images);
        const before = await countedOn(replica());
        await applyImages(replica(), lives.flatMap(journalsOf));
        await Promise.all(
          [0, 1].map(async () => {
            const noted = new Set<string>();
            const doubled = shuffled([...images, ...images.filter((_, i) => i % 3 === 0)]);
            for (const batch of batchesOf(doubled)) await applyImages(replica(), batch, noted);
          }),
        );
        expect((await countedOn(replica())) - before).toBe(lives.reduce((sum, { changes }) => sum + changes, 0));
        await expectShown(lives);
      }),
      { numRuns: 20 },
    );
  });

  it.each(["before", "after"])("survives a death %s any of its calls, when it comes again", async (when) => {
    for (let at = 0, isOver = false; !isOver; at++) {
      const lives = [runLife(3, [1, 1], true), runLife(2, [1], false), settingsLife(3), settingsLife(2)];
      // Of each life the middle comes first, and then all of it.
      const images = [...lives.flatMap((life) => life.images.slice(1, 2)), ...lives.flatMap((life) => life.images)];
      const all = [...lives.flatMap(journalsOf), ...images];
      const before = await countedOn(replica());
      let calls = 0;
      table.around(async (_, send) => {
        const call = calls++;
        if (call > at || (call === at && when === "before")) throw new Error("dead");
        const answer = await send();
        if (call === at) throw new Error("dead");
        return answer;
      });
      const first = await applyImages(replica(), all).then(
        () => "done",
        () => "died",
      );
      table.around((_, send) => send());
      isOver = first === "done";
      expect(isOver || calls > at).toBe(true);
      await applyImages(replica(), all);
      expect((await countedOn(replica())) - before).toBe(lives.reduce((sum, { changes }) => sum + changes, 0));
      await expectShown(lives);
      if (isOver) expect(at).toBeGreaterThan(5);
    }
  });

  it("counts a record that was last written before the store was replicated, once", async () => {
    const life = runLife(3, [1], true);
    const [made, changed, stones] = life.images as [Item, Item, Item];
    const bare = ({ rv, tx, ...rest }: Item): Item => rest;
    expect(await fed([[bare(made)], [bare(made)]])).toBe(3);
    expect(await fed([[changed], [bare(made)]])).toBe(1);
    expect(await fed([[stones], [bare(made)]])).toBe(2);
    expect(await replica().read(life.key)).toBeUndefined();

    const late = runLife(2, [], true);
    const [lateMade, lateStones] = late.images as [Item, Item];
    expect(await fed([[lateStones]])).toBe(0);
    expect(await replica().read(stoneKey(late.key))).toMatchObject({ c: 0, rv: lateStones.rv, ttl: lateStones.ttl });
    expect(await fed([[bare(lateMade)], [bare(lateMade)]])).toBe(4);
    expect(await replica().read(stoneKey(late.key))).toMatchObject({ c: 4 });
    expect(await replica().read(late.key)).toBeUndefined();
  });

  it("leaves out what each store keeps for itself", async () => {
    const images = [
      { ...storeKey, next: 5, rv: 9 },
      { pk: changesPk, sk: "00", n: 99, rv: 9 },
      { pk: "REPLICA#other", sk: "x", rv: 9 },
    ];
    expect(await fed([images])).toBe(0);
    expect(await replica().readAll([storeKey, { pk: "REPLICA#other", sk: "x" }])).toEqual([undefined, undefined]);
  });

  it("keeps a journal as it came first, and that its commit was seen", async () => {
    const life = settingsLife(1);
    const [journal, image] = [...journalsOf(life), ...life.images] as [Item, Item];
    const key = journalKey(String(image.tx));
    await applyImages(replica(), [journal]);
    expect(await replica().read(key)).toEqual(journal);
    await applyImages(replica(), [image]);
    await applyImages(replica(), [{ ...journal, rv: 1 }]);
    expect(await replica().read(key)).toEqual({ ...journal, ex: true });
  });

  it("is a batch of any size, with records as large as records can be", async () => {
    const large = Array.from({ length: 20 }, (_, i) => ({
      pk: `PAYLOAD#large${process.pid}`,
      sk: String(i),
      b: new Uint8Array(380 * 1024),
      rv: 5,
    }));
    const small = Array.from({ length: 230 }, (_, i) => ({ pk: `SMALL#${process.pid}`, sk: String(i), rv: 5 }));
    await applyImages(replica(), [...large, ...small]);
    const all = await replica().readAll([...large, ...small].map(({ pk, sk }) => ({ pk, sk })));
    expect(all.map((item) => item?.rv)).toEqual(all.map(() => 5));
  });

  it("ends with the store's promotion", async () => {
    const life = runLife(2, [], false);
    const fence = (change: { set?: [[["fenced"], true]]; remove?: [["fenced"]] }) =>
      replica().commit(
        shards.map((sk) => ({ kind: "update", key: { pk: changesPk, sk }, change, require: [], otherwise: "reload" })),
      );
    await fence({ set: [[["fenced"], true]] });
    const before = await countedOn(replica());
    await expect(applyImages(replica(), life.images)).rejects.toThrow(Fenced);
    await expect(applyImages(replica(), journalsOf(life))).rejects.toThrow("this store was promoted");
    expect(await countedOn(replica())).toBe(before);
    expect(await shown(replica(), life)).toEqual({ record: undefined, stone: undefined, seen: [undefined] });
    await fence({ remove: [["fenced"]] });
    await applyImages(replica(), life.images);
    expect(await countedOn(replica())).toBe(before + 2);
  });
});
