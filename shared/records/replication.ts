/**
 * What a replicated store adds to its records, and the records it keeps for its replicas.
 *
 * Every record that is written while the store is replicated bears `rv`, its version among all its lives (µs of the
 * writer's clock, raised above what it replaces), and `tx`, the commit of several records that wrote it last. Three kinds
 * of records tell replicas what images cannot:
 * - **stones** name what a commit deleted;
 * - a **stone** of one record stands for it on a replica, and on the primary where the key may be used again;
 * - a **journal** holds all writes of a commit of several records, and is on the replica before the commit is tried: so a
 *   store that is promoted can finish every commit of which it has any part.
 */
import { absent, type Change, type Item, type Key, type Term, type Value, type Write } from "./write.ts";

/** Of stones and journals: longer than the table's stream keeps anything (24 h). */
const KEPT_SECONDS = 25 * 3_600;

/** The version of a record among all its lives; 0 for one that was last written before the store was replicated. */
export const stampOf = (item: Item | undefined): number => (typeof item?.rv === "number" ? item.rv : 0);

/** The last commit of several records that wrote this one. */
export const commitOf = (item: Item | undefined): string | undefined =>
  typeof item?.tx === "string" ? item.tx : undefined;

/** What each record that a commit writes gets besides. */
export interface Mark {
  readonly stamp: number;
  readonly commit?: string | undefined;
}

export const markAttributes = ({ stamp, commit }: Mark): Item => ({
  rv: stamp,
  ...(commit !== undefined && { tx: commit }),
});

/** The record is older than this version, or not there. */
export const olderThan = (stamp: number): Term => ({ is: "older", stamp });

/** When stones and journals go, in seconds of the epoch. */
export const endOf = ({ stamp }: Mark): number => Math.ceil(stamp / 1_000_000) + KEPT_SECONDS;

export const pulseKey: Key = { pk: "PULSE", sk: "PULSE" };

/** A record that says nothing but that it came. */
export const putPulse = (nowMs: number) =>
  ({
    kind: "put",
    key: pulseKey,
    item: { rv: nowMs * 1_000 },
    require: [],
    otherwise: "reload",
  }) satisfies Write;

export const stonePrefix = "STONE#";

/** The stone of one record, on a replica; on the primary of records whose keys are used again. */
export const stoneKey = ({ pk, sk }: Key): Key => ({ pk: `${stonePrefix}${pk}`, sk });

export const putStone = (key: Key, mark: Mark): Write => ({
  kind: "put",
  key: stoneKey(key),
  item: { ...markAttributes(mark), ttl: endOf(mark) },
  require: [olderThan(mark.stamp)],
  otherwise: "reload",
});

export const stonesPrefix = "STONES#";

/** Stands in a commit for all that the commit deletes. `id` is random. */
export const putStones = (id: string, deleted: readonly Key[], mark: Mark): Write => ({
  kind: "put",
  key: { pk: `${stonesPrefix}${id}`, sk: "STONES" },
  item: { ks: deleted.map(({ pk, sk }) => [pk, sk]), ...markAttributes(mark), ttl: endOf(mark) },
  require: [absent],
  otherwise: "reload",
});

/** The records that stones stand for; undefined when it is another record. */
export const readStones = (item: Item): readonly Key[] | undefined =>
  String(item.pk).startsWith(stonesPrefix) && Array.isArray(item.ks)
    ? (item.ks as readonly (readonly [string, string])[]).map(([pk, sk]) => ({ pk, sk }))
    : undefined;

export const journalPrefix = "JOURNAL#";

export const journalKey = (commit: string): Key => ({ pk: `${journalPrefix}${commit}`, sk: "JOURNAL" });

/** What a commit was about to do. */
export interface Journal {
  readonly commit: string;
  readonly stamp: number;
  readonly writes: readonly Write[];
  /** Commits whose effect is in the images here: where this one happened, they did. */
  readonly after: readonly string[];
  /** A replica saw an image that this commit wrote: it happened. */
  readonly isSeen: boolean;
}

export const putJournal = ({ commit, stamp, writes, after }: Omit<Journal, "isSeen">): Write => ({
  kind: "put",
  key: journalKey(commit),
  item: {
    ws: writes.flatMap((write): Value[] => (write.kind === "check" ? [] : [writeValue(write)])),
    ...(after.length > 0 && { af: after }),
    rv: stamp,
    ttl: endOf({ stamp }),
  },
  require: [],
  otherwise: "reload",
});

const writeValue = (write: Exclude<Write, { kind: "check" }>): Value => ({
  k: [write.key.pk, write.key.sk],
  ...(write.kind === "put" && { put: write.item }),
  ...(write.kind === "update" && { up: write.change as unknown as Value }),
});

/** Notes on a replica that the commit happened; on a replica without the journal, nothing. */
export const noteSeen = (commit: string): Write => ({
  kind: "update",
  key: journalKey(commit),
  change: { set: [[["ex"], true]] },
  require: [{ is: "present" }],
  otherwise: "reload",
});

/** undefined when it is another record. Writes come without their conditions: their versions are their stamp. */
export const readJournal = (item: Item): Journal | undefined => {
  const pk = String(item.pk);
  if (!pk.startsWith(journalPrefix) || !Array.isArray(item.ws)) return undefined;
  return {
    commit: pk.slice(journalPrefix.length),
    stamp: stampOf(item),
    writes: (item.ws as readonly StoredWrite[]).map(writeOf),
    after: Array.isArray(item.af) ? (item.af as readonly string[]) : [],
    isSeen: item.ex === true,
  };
};

interface StoredWrite {
  readonly k: readonly [string, string];
  readonly put?: Item;
  readonly up?: Change;
}

const writeOf = ({ k: [pk, sk], put, up }: StoredWrite): Write => {
  const rest = { key: { pk, sk }, require: [], otherwise: "reload" } as const;
  if (put !== undefined) return { kind: "put", item: put, ...rest };
  if (up !== undefined) return { kind: "update", change: up, ...rest };
  return { kind: "delete", ...rest };
};
