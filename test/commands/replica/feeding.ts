/** Histories of records on a primary, as the images that its stream would bring, and what must come of them. */
import fc from "fast-check";
import { type Run, settle } from "../../../shared/domain/run.ts";
import { changesPk, runKey, settingsKey, shards } from "../../../shared/records/keys.ts";
import {
  journalKey,
  markAttributes,
  putJournal,
  putStone,
  putStones,
  stoneKey,
} from "../../../shared/records/replication.ts";
import { runItem } from "../../../shared/records/run.ts";
import type { Item, Key } from "../../../shared/records/write.ts";
import type { Store } from "../../../shared/store/port.ts";

/** What became of one record on the primary. */
export interface Life {
  readonly key: Key;
  /** In the order in which they were written; each with its own version and commit. */
  readonly images: readonly Item[];
  /** What the primary has in the end, if anything. */
  readonly last: Item | undefined;
  /** Enqueued and settled messages. */
  readonly changes: number;
}

let lives = 0;
/** Versions lie on µs of some day, so that stones have a time to live that is still ahead. */
const stampAt = (step: number): number => Date.now() * 1_000 + step;

const marked = (step: number, commit: string) => ({ stamp: stampAt(step), commit });

const itemOf = ({ kind, key, ...write }: { kind: string; key: Key; item?: Item }): Item =>
  ({ ...write.item, ...key }) as Item;

/** A run of `messages`, of which each step settles so many more; with `end` it is deleted then. */
export const runLife = (messages: number, settled: readonly number[], end: boolean): Life => {
  const id = `r${process.pid}x${lives++}`;
  const key = { name: id, generation: "g", partition: 0, position: 7 };
  let run: Run = {
    key,
    version: 1,
    createdAtMs: 1,
    messageIdBase: id,
    slots: Array.from({ length: messages }, () => ({ state: "available", deliveries: 0, visibleAtMs: 0 })),
    sizes: Array.from({ length: messages }, () => 1),
    overheadBytes: 0,
    expiries: Array.from({ length: messages }, () => 0),
    dropAtMs: 0,
    holds: {},
    payload: { kind: "inline", bytes: new Uint8Array([1, 2, 3]) },
  };
  let step = 0;
  const image = (): Item => ({ ...runItem(run), ...markAttributes(marked(step, `${id}c${step}`)) });
  const images = [image()];
  let done = 0;
  for (const more of settled) {
    step++;
    const next = Math.min(messages - 1, done + more);
    run = settle(
      run,
      Array.from({ length: next - done }, (_, i) => done + i),
    );
    done = next;
    images.push(image());
  }
  const last = images.at(-1);
  if (!end) return { key: runKey(key), images, last, changes: messages + done };
  step++;
  images.push(itemOf(putStones(`${id}s`, [runKey(key)], marked(step, `${id}c${step}`)) as never));
  return { key: runKey(key), images, last: undefined, changes: 2 * messages };
};

/** A queue's settings, made and deleted in turn `steps` times. */
export const settingsLife = (steps: number): Life => {
  const id = `q${process.pid}x${lives++}`;
  const key = settingsKey(id);
  const images = Array.from({ length: steps }, (_, step): Item => {
    const mark = marked(step, `${id}c${step}`);
    return step % 2 === 0 ? { ...key, g: String(step), ...markAttributes(mark) } : itemOf(putStone(key, mark) as never);
  });
  return { key, images, last: steps % 2 === 1 ? images.at(-1) : undefined, changes: 0 };
};

export const livesOf: fc.Arbitrary<readonly Life[]> = fc
  .array(
    fc.oneof(
      fc.record({ n: fc.integer({ min: 1, max: 4 }), s: fc.array(fc.nat(2), { maxLength: 4 }), end: fc.boolean() }),
      fc.integer({ min: 1, max: 5 }),
    ),
    { minLength: 1, maxLength: 6 },
  )
  // Made anew at every run of the property: no two of them share a key.
  .map((all) => all.map((one) => (typeof one === "number" ? settingsLife(one) : runLife(one.n, one.s, one.end))));

/** The journal of each image's commit, as an image. */
export const journalsOf = (life: Life): readonly Item[] =>
  life.images.map((image) => {
    const { key, item } = putJournal({
      commit: String(image.tx),
      stamp: Number(image.rv),
      writes: [],
      after: [],
    }) as never as {
      key: Key;
      item: Item;
    };
    return { ...item, ...key };
  });

export const countedOn = async (replica: Store): Promise<number> => {
  const found = await replica.readAll(shards.map((sk) => ({ pk: changesPk, sk })));
  return found.reduce((sum, item) => sum + Number(item?.n ?? 0), 0);
};

/** What the replica shows of a life: its record, the version of its stone, and of which commits it knows. */
export const shown = async (replica: Store, life: Life) => {
  const [record, stone] = await replica.readAll([life.key, stoneKey(life.key)]);
  const commits = [...new Set(life.images.map(({ tx }) => String(tx)))];
  const journals = await replica.readAll(commits.map(journalKey));
  return { record, stone: stone?.rv, seen: journals.map((journal) => journal?.ex) };
};

export const expected = (life: Life) => ({
  record: life.last,
  stone: life.images.filter(({ pk }) => String(pk).startsWith("STONE")).at(-1)?.rv,
  seen: life.images.map(() => true),
});
