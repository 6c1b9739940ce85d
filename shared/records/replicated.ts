/**
 * What a replica makes of the images that it is fed: for each key the newest record and its stone, whatever the order in
 * which they come and however often. Pure; `commands/replica/apply.ts` puts it into the table.
 */
import { allChangesOf, changesOf, runKeyAt } from "./changes.ts";
import { storeKey } from "./keys.ts";
import { replicaPrefix } from "./replica.ts";
import { journalPrefix, readStones, stampOf, stoneKey, stonePrefix } from "./replication.ts";
import { absent, type Item, type Key, present, type Term, type Write } from "./write.ts";

/**
 * What a replica holds at one key. Both may be there: a record that was made again is newer than its stone. A stone of a
 * run has `c`, the changes of that run that are counted already.
 */
export interface Held {
  readonly record?: Item | undefined;
  readonly stone?: Item | undefined;
}

/** One thing that came: an image of the record at the key, or the stone of its deletion. */
export type Arrival =
  | { readonly is: "record"; readonly key: Key; readonly item: Item }
  | { readonly is: "stone"; readonly key: Key; readonly item: Item };

/** What an image brings; nothing when it is a journal, or what each store keeps for itself. */
export const arrivalsOf = (image: Item): readonly Arrival[] => {
  const key = keyOf(image);
  const isOwn = (key.pk === storeKey.pk && key.sk === storeKey.sk) || key.pk.startsWith(replicaPrefix);
  if (isOwn || key.pk.startsWith(journalPrefix)) return [];
  const deleted = readStones(image);
  if (deleted !== undefined) return deleted.map((each) => stoneOf(each, image));
  if (key.pk.startsWith(stonePrefix)) return [stoneOf({ pk: key.pk.slice(stonePrefix.length), sk: key.sk }, image)];
  return [{ is: "record", key, item: image }];
};

const keyOf = (item: Item): Key => ({ pk: String(item.pk), sk: String(item.sk) });

/** A stone is the same whether it comes alone or among others. */
const stoneOf = (key: Key, { rv, tx, ttl }: Item): Arrival => ({
  is: "stone",
  key,
  item: { ...stoneKey(key), rv, ...(tx !== undefined && { tx }), ...(ttl !== undefined && { ttl }) },
});

/** What a replica then holds, and how many changes of queues that counts. Keys of runs are never used again. */
export const heldAfter = (held: Held, arrival: Arrival): { readonly held: Held; readonly changes: number } =>
  arrival.is === "record" ? afterRecord(held, arrival.item) : afterStone(held, arrival.key, arrival.item);

const afterRecord = ({ record, stone }: Held, image: Item): { held: Held; changes: number } => {
  const stamp = stampOf(image);
  const isNew = record === undefined && stone === undefined;
  if (isNew || stamp > Math.max(stampOf(record), stampOf(stone))) {
    return { held: { record: image, stone }, changes: changesOf(image) - changesOf(record) };
  }
  if (stone === undefined || stamp >= stampOf(stone)) return { held: { record, stone }, changes: 0 };
  // It was deleted before this came. The stone knows what of it is counted.
  const changes = Math.max(0, allChangesOf(image) - countedIn(stone));
  return { held: { record, stone: changes === 0 ? stone : { ...stone, c: countedIn(stone) + changes } }, changes };
};

const afterStone = ({ record, stone: older }: Held, key: Key, stone: Item): { held: Held; changes: number } => {
  const stamp = stampOf(stone);
  if (older !== undefined && stampOf(older) >= stamp) return { held: { record, stone: older }, changes: 0 };
  const isDeleted = record !== undefined && stampOf(record) < stamp;
  const counted = isDeleted ? allChangesOf(record) : countedIn(older);
  const changes = isDeleted ? counted - changesOf(record) : 0;
  const kept = runKeyAt(key) === undefined ? stone : { ...stone, c: counted };
  return { held: { record: isDeleted ? undefined : record, stone: kept }, changes };
};

const countedIn = (stone: Item | undefined): number => (typeof stone?.c === "number" ? stone.c : 0);

/** The writes that make the one of the other, if both still are as they were read; none when nothing changes. */
export const heldWrites = (key: Key, before: Held, after: Held): readonly Write[] =>
  before.record === after.record && before.stone === after.stone
    ? []
    : [writeOf(key, before.record, after.record), writeOf(stoneKey(key), before.stone, after.stone)];

const writeOf = (key: Key, before: Item | undefined, after: Item | undefined): Write => {
  const rest = { key, require: asRead(before), otherwise: "reload" } as const;
  if (before === after) return { kind: "check", ...rest };
  return after === undefined ? { kind: "delete", ...rest } : { kind: "put", item: after, ...rest };
};

/** A version is written once; what is counted in a stone changes beneath it. */
const asRead = (item: Item | undefined): readonly Term[] =>
  item === undefined ? [absent] : [present, same("rv", item), ...(counts(item) ? [same("c", item)] : [])];

const counts = (item: Item): boolean => String(item.pk).startsWith(stonePrefix);

const same = (attribute: "rv" | "c", item: Item): Term => {
  const value = item[attribute];
  return value === undefined ? { is: "lacks", path: [attribute] } : { is: "equal", path: [attribute], value };
};
