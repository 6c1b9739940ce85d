/** The store's own record: its id, what buried queues counted, its place in a cluster, its orderly shutdown. */
import { parseCounter } from "../domain/counter.ts";
import { FOLDED_QUEUES, REPLICA_TIMEOUT_SECONDS_MAX } from "../domain/limits.ts";
import type { QueueRef } from "../domain/queue.ts";
import { memberDocument, parseMembers } from "../domain/store-document.ts";
import type { Member, StoreRole } from "../domain/store-status.ts";
import { generationName, storeKey } from "./keys.ts";
import type { Tail } from "./queue.ts";
import { json, map, text, Unreadable, whole, wholeOrZero } from "./reading.ts";
import type { Change, Item, Path, Term, Value, Write } from "./write.ts";

/** A store's place in a cluster; all of it is written at once, at each change of the cluster. */
export interface Configuration {
  readonly clusterId: string;
  readonly configChange: bigint;
  /** Random; the same at every member that this change reached. */
  readonly configId: string;
  /** The primary's `changeCounter` at the change. */
  readonly changeCounter: bigint;
  readonly role: StoreRole;
  /** All of the cluster's stores, this one among them. */
  readonly members: readonly Member[];
  /** After this long without a replica it is given up. */
  readonly replicaTimeoutSeconds: number;
}

/** An orderly shutdown, and the store's `changeCounter` then. */
export interface Shutdown {
  readonly shutdownId: string;
  readonly changeCounter: bigint;
}

export interface StoreRecord {
  /** Null until someone needs it. */
  readonly storeId: string | null;
  /** What buried queues had counted; null when none was ever buried. */
  readonly buried: Tail | null;
  /**
   * Queues that count here and no more at their tails, `<name>#<generation>`, and when their tails may last have been seen
   * (ms); null before the first.
   */
  readonly folded: ReadonlyMap<string, number> | null;
  /** Added to what is counted, modulo 2^64. */
  readonly base: bigint;
  readonly configuration: Configuration | null;
  readonly shutdown: Shutdown | null;
  /** No call begins to write before (ms): a store is being admitted, and both are counted. */
  readonly pausedUntilMs: number;
  /** A replica that is given what it lacks: until that has ended it holds records of two moments. */
  readonly isJoining: boolean;
}

/** What the record says; a store that has none says nothing. */
export const readStore = (item: Item | undefined): StoreRecord => ({
  storeId: item?.id === undefined ? null : text(item, "id"),
  buried: item?.next === undefined ? null : readBuried(item),
  folded: item?.f === undefined ? null : readFolded(item),
  base: item?.base === undefined ? 0n : counter(item, "base"),
  configuration:
    item !== undefined && hasAny(item, ["cl", "cc", "ci", "cp", "role", "ms", "rt"]) ? readConfiguration(item) : null,
  shutdown: item !== undefined && hasAny(item, ["sd", "sc"]) ? readShutdown(item) : null,
  pausedUntilMs: item === undefined ? 0 : wholeOrZero(item, "pu"),
  isJoining: item?.jn === true,
});

/** Gives a store an id when it has none; else the one in the record is the store's. */
export const setStoreId = (storeId: string): Write =>
  update({ set: [[["id"], storeId]] }, [{ is: "lacks", path: ["id"] }]);

/**
 * Writes a store's configuration over the one that was read, or over none. The store goes on by this: what an orderly
 * shutdown said before is over.
 */
export const setConfiguration = (over: Configuration | null, configuration: Configuration): Write =>
  update(
    {
      set: [
        [["cl"], configuration.clusterId],
        [["cc"], String(configuration.configChange)],
        [["ci"], configuration.configId],
        [["cp"], String(configuration.changeCounter)],
        [["role"], configuration.role],
        [["ms"], JSON.stringify(configuration.members.map(memberDocument))],
        [["rt"], configuration.replicaTimeoutSeconds],
      ],
      remove: [["sd"], ["sc"], ["pu"], ["jn"]],
    },
    isConfiguration(over),
  );

/** Notes at a replica that it is joining; the configuration by which it is in ends that. */
export const setJoining = (): Write => update({ set: [[["jn"], true]] }, []);

/** Lets no call begin to write before that moment, or until the configuration is changed. */
export const setPause = (read: Configuration, untilMs: number): Write =>
  update({ set: [[["pu"], untilMs]] }, isConfiguration(read));

/** That the store's configuration still is the one that was read, or none. */
export const isConfiguration = (read: Configuration | null): readonly Term[] =>
  read === null
    ? [{ is: "lacks", path: ["cc"] }]
    : [
        { is: "equal", path: ["cc"], value: String(read.configChange) },
        { is: "equal", path: ["ci"], value: read.configId },
      ];

/** Notes an orderly shutdown, as long as the configuration is the one that was read. */
export const setShutdown = (read: Configuration | null, shutdown: Shutdown): Write =>
  update(
    {
      set: [
        [["sd"], shutdown.shutdownId],
        [["sc"], String(shutdown.changeCounter)],
      ],
    },
    isConfiguration(read),
  );

/** What all of a replica's counters of applied changes come to (`changesPk`, `n` each). */
export const changesApplied = (items: readonly Item[]): bigint =>
  items.reduce((total, item) => total + BigInt(whole(item, "n")), 0n);

/** Whether another queue can be folded now. */
export const hasFoldRoom = ({ folded }: StoreRecord): boolean => folded === null || folded.size < FOLDED_QUEUES;

/**
 * Adds a sealed queue's counters to the store's and names the queue, once: from here on its tails count no more. `forget`:
 * queues whose tails nobody can have seen any more, as they were read.
 */
export const foldTails = (
  read: StoreRecord,
  queue: QueueRef,
  tails: readonly Tail[],
  nowMs: number,
  forget: readonly (readonly [string, number])[] = [],
): Write => {
  const name = generationName(queue);
  // A name can only be set inside a map that is there.
  const isFirst = read.folded === null;
  return update(
    {
      set: isFirst ? [[["f"], { [name]: nowMs }]] : [[["f", name], nowMs]],
      add: [
        [["next"], sum(tails, (tail) => tail.enqueued)],
        [["settled"], sum(tails, (tail) => tail.settled)],
        [["dead"], sum(tails, (tail) => tail.deadLettered)],
      ],
      ...(forget.length > 0 && { remove: forget.map(([old]): Path => ["f", old]) }),
    },
    isFirst
      ? [{ is: "lacks", path: ["f"] }]
      : [
          { is: "has", path: ["f"] },
          { is: "lacks", path: ["f", name] },
          ...forget.map(([old, atMs]): Term => ({ is: "equal", path: ["f", old], value: atMs })),
        ],
  );
};

/** Beside the deletion of a folded queue's tails: from now on nobody sees them. */
export const noteTailsGone = (queue: QueueRef, nowMs: number): Write =>
  update({ set: [[["f", generationName(queue)], nowMs]] }, [{ is: "has", path: ["f", generationName(queue)] }]);

const update = (change: Change, require: readonly Term[]): Write => ({
  kind: "update",
  key: storeKey,
  change,
  require,
  otherwise: "reload",
});

const sum = (tails: readonly Tail[], of: (tail: Tail) => number): number => tails.reduce((n, tail) => n + of(tail), 0);

const hasAny = (item: Item, attributes: readonly string[]): boolean =>
  attributes.some((attribute) => item[attribute] !== undefined);

const readBuried = (item: Item): Tail => ({
  enqueued: whole(item, "next"),
  settled: wholeOrZero(item, "settled"),
  deadLettered: wholeOrZero(item, "dead"),
});

const readFolded = (item: Item): ReadonlyMap<string, number> =>
  new Map(
    Object.entries(map(item, "f")).map(([name, atMs]: [string, Value | undefined]) => {
      if (typeof atMs !== "number" || !Number.isSafeInteger(atMs))
        throw new Unreadable(item, `f.${name} is not a time`);
      return [name, atMs];
    }),
  );

const readConfiguration = (item: Item): Configuration => ({
  clusterId: text(item, "cl"),
  configChange: counter(item, "cc"),
  configId: text(item, "ci"),
  changeCounter: counter(item, "cp"),
  role: readRole(item),
  members: readMembers(item),
  replicaTimeoutSeconds: readReplicaTimeout(item),
});

const readRole = (item: Item): StoreRole => {
  const role = text(item, "role");
  if (role !== "primary" && role !== "replica") throw new Unreadable(item, `role is ${role}`);
  return role;
};

const readMembers = (item: Item): readonly Member[] => {
  const parsed = parseMembers(json(item, "ms"));
  if ("members" in parsed) return parsed.members;
  throw new Unreadable(item, `ms: ${parsed.errors.map(({ path, message }) => `${path} ${message}`).join("; ")}`);
};

const readReplicaTimeout = (item: Item): number => {
  const seconds = whole(item, "rt");
  if (seconds < 1 || seconds > REPLICA_TIMEOUT_SECONDS_MAX) throw new Unreadable(item, `rt is ${seconds}`);
  return seconds;
};

const readShutdown = (item: Item): Shutdown => ({ shutdownId: text(item, "sd"), changeCounter: counter(item, "sc") });

const counter = (item: Item, attribute: string): bigint => {
  const value = parseCounter(text(item, attribute));
  if (value === undefined) throw new Unreadable(item, `${attribute} is not an unsigned 64-bit integer in decimal`);
  return value;
};

/** The same write, which also lets the store's counter be `base` and what it counts. */
export const setCounter = (write: Write, base: bigint): Write =>
  write.kind === "update"
    ? { ...write, change: { ...write.change, set: [...(write.change.set ?? []), [["base"], String(base)]] } }
    : write;
