/** What a store looks like that was promoted with a part of the last images of its primary. */
import { applyImages } from "../../shared/commands/replica/apply.ts";
import { promote } from "../../shared/commands/replica/promote.ts";
import { readStoreStatus } from "../../shared/commands/store/status.ts";
import { liveCount } from "../../shared/domain/run.ts";
import { changesOf, runKeyAt } from "../../shared/records/changes.ts";
import {
  commitOf,
  type Journal,
  readJournal,
  readStones,
  stampOf,
  stoneKey,
} from "../../shared/records/replication.ts";
import { readRun } from "../../shared/records/run.ts";
import type { Item, Key } from "../../shared/records/write.ts";
import type { Chance } from "../history/random.ts";
import { keyOf, MemoryStore, nameOf } from "./memory-store.ts";

/** What happened on a primary, as its stream brought it, and what a replica had before. */
export interface Happening {
  readonly before: readonly Item[];
  readonly images: readonly Item[];
  /** All records of the primary afterwards. */
  readonly after: readonly Item[];
  /** Messages that nothing of it settles. */
  readonly kept: number;
}

export interface Arrived {
  readonly images: readonly Item[];
  readonly isAll: boolean;
}

/** Most parts of one happening that are tried. */
const PARTS = 80;

/**
 * Every part of the images that may have arrived: of each record's some, the first ones first; bodies, which commits wait
 * for, and the journals of what arrived with those before them. Where there are too many, some of them.
 */
export const partsOf = ({ images }: Happening, chance: Chance): readonly Arrived[] => {
  const journals = images.filter(isJournal);
  const bodies = images.filter(isBody);
  const records = [...Map.groupBy(images.filter(isRecord), (image) => nameOf(keyOf(image))).values()];
  const count = records.reduce((product, all) => product * (all.length + 1), 1);
  const numbers =
    count <= PARTS
      ? Array.from({ length: count }, (_, i) => i)
      : [0, count - 1, ...Array.from({ length: PARTS }, () => chance.whole(0, count - 1))];
  return numbers.flatMap((number) => {
    let left = number;
    const chosen = records.flatMap((all) => {
      const taken = left % (all.length + 1);
      left = Math.floor(left / (all.length + 1));
      return all.slice(0, taken);
    });
    const commits = new Set(chosen.map(commitOf));
    const last = journals.findLastIndex((journal) => commits.has(readJournal(journal)?.commit ?? ""));
    const some = shuffled([...bodies, ...journals.slice(0, last + 1), ...chosen], chance);
    const all = shuffled([...bodies, ...journals, ...chosen], chance);
    const isAll = number === count - 1;
    const rest = isAll ? images.filter((image) => isLate(image)) : [];
    return [
      { images: some, isAll: false },
      { images: [...all, ...rest], isAll },
    ];
  });
};

/** Everything that is wrong with a store that was promoted with these images. */
export const promotedWith = async (happening: Happening, { images, isAll }: Arrived): Promise<readonly string[]> => {
  const store = new MemoryStore(happening.before);
  await applyImages(store, images);
  const counted = await readStoreStatus({ store, now: Date.now });
  const held = changesIn(store.items);
  await promote({ store, now: Date.now }, { table: "promoted" });
  const status = await readStoreStatus({ store, now: Date.now });
  const more = changesIn(store.items) - held;
  const wrongs = journalsOf(happening).flatMap((journal) => wholeness(store, journal, images));
  if (BigInt.asUintN(64, status.changeCounter - counted.changeCounter) < BigInt(more)) {
    wrongs.push(`the counter went from ${counted.changeCounter} to ${status.changeCounter} by ${more} changes`);
  }
  const live = liveIn(store.items, happening);
  if (live < happening.kept) wrongs.push(`${live} of its messages are there, and ${happening.kept} should be`);
  return [...wrongs, ...contents(store, happening), ...(isAll ? differences(store, happening) : [])];
};

const journalsOf = ({ images }: Happening): readonly Journal[] => images.flatMap((image) => readJournal(image) ?? []);

/** All of a commit is there, or none of it; none only if nothing of it arrived. */
const wholeness = (store: MemoryStore, journal: Journal, images: readonly Item[]): string[] => {
  const items = new Map(store.items.map((item) => [nameOf(keyOf(item)), item]));
  const shows = (key: Key): boolean =>
    stampOf(items.get(nameOf(key))) >= journal.stamp || stampOf(items.get(nameOf(stoneKey(key)))) >= journal.stamp;
  const keys = journal.writes.map(({ key }) => key).filter(({ sk }) => !sk.startsWith("CAPACITY#"));
  const shown = keys.filter(shows);
  const hasArrived = images.some((image) => commitOf(image) === journal.commit);
  if (shown.length === keys.length || (shown.length === 0 && !hasArrived)) return [];
  const missing = keys.filter((key) => !shown.includes(key)).map(nameOf);
  return [`of a commit of ${keys.map(nameOf).join(", ")} these are missing: ${missing.join(", ")}`];
};

/** A record of a version is what the primary had at that version. */
const contents = (store: MemoryStore, { images }: Happening): readonly string[] => {
  const known = new Map(images.map((image) => [`${nameOf(keyOf(image))} ${stampOf(image)}`, image]));
  return store.items.flatMap((item) => {
    if (!isCompared(item)) return [];
    const there = known.get(`${nameOf(keyOf(item))} ${stampOf(item)}`);
    if (there === undefined || textOf(there) === textOf(item)) return [];
    return [`${nameOf(keyOf(item))} is ${textOf(item)} and was ${textOf(there)}`];
  });
};

/** With all images it holds what the primary held. */
const differences = (store: MemoryStore, { after }: Happening): readonly string[] => {
  const here = new Map(store.items.filter(isCompared).map((item) => [nameOf(keyOf(item)), textOf(item)]));
  const there = new Map(after.filter(isCompared).map((item) => [nameOf(keyOf(item)), textOf(item)]));
  return [...new Set([...here.keys(), ...there.keys()])].flatMap((name) =>
    here.get(name) === there.get(name) ? [] : [`${name} is ${here.get(name)}, and ${there.get(name)} on the primary`],
  );
};

/** Messages on the queues of which images came. */
const liveIn = (items: readonly Item[], { images }: Happening): number => {
  const queues = new Set(images.map(({ pk }) => pk));
  return items.reduce((sum, item) => {
    const key = runKeyAt(keyOf(item));
    return sum + (key === undefined || !queues.has(item.pk) ? 0 : liveCount(readRun(item, key)));
  }, 0);
};

/** Enqueues and dequeues that the records show. */
const changesIn = (items: readonly Item[]): number =>
  items.reduce((sum, item) => {
    const { pk, sk } = keyOf(item);
    if (pk.startsWith("STONE#") && runKeyAt({ pk: pk.slice("STONE#".length), sk }) !== undefined) {
      return sum + Number(item.c ?? 0);
    }
    return sum + changesOf(item);
  }, 0);

const isJournal = (item: Item): boolean => readJournal(item) !== undefined;
const isBody = (item: Item): boolean => String(item.pk).startsWith("PAYLOAD#");
/** Bodies are deleted when a replica has what replaced them. */
const isLate = (item: Item): boolean => (readStones(item) ?? []).some(({ pk }) => pk.startsWith("PAYLOAD#"));
const isOwn = (item: Item): boolean => /^(STORE$|REPLICA#|PULSE)/.test(String(item.pk));
const isRecord = (item: Item): boolean => !isJournal(item) && !isBody(item) && !isLate(item) && !isOwn(item);

/** Counters are set by what they count, and may lie ahead of the primary's. */
const isCompared = (item: Item): boolean =>
  !/^(STORE$|REPLICA#|PULSE|STONE#|STONES#|JOURNAL#|TAIL#)/.test(String(item.pk)) &&
  !String(item.sk).startsWith("CAPACITY#");

export const textOf = (item: Item): string =>
  JSON.stringify(item, (_, value: unknown) => {
    if (value instanceof Uint8Array) return Buffer.from(value).toString("base64");
    if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
    return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  });

const shuffled = (all: readonly Item[], chance: Chance): readonly Item[] => {
  const byKey = [...Map.groupBy(all, (item) => nameOf(keyOf(item))).values()];
  return byKey
    .map((images) => [chance.next(), images] as const)
    .toSorted(([a], [b]) => a - b)
    .flatMap(([, images]) => images);
};
