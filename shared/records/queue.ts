/** A queue's records: settings (there or not), a tail a partition, the capacity of a limited one, the mark of a deleted one. */
import {
  defaultSettings,
  isLimited,
  type PartitionRef,
  partitionsOf,
  type Queue,
  type QueueRef,
  type QueueSettings,
} from "../domain/queue.ts";
import { capacityKey, deletedQueueKey, deletedQueuePk, settingsKey, tailKey } from "./keys.ts";
import { isMap, map, text, Unreadable, whole, wholeOrZero } from "./reading.ts";
import { absent, type Item, present, type Write } from "./write.ts";

/** All records of a new queue, for one commit. */
export const createQueue = (queue: Queue, nowMs: number): readonly Write[] => [
  {
    kind: "put",
    key: settingsKey(queue.name),
    item: { g: queue.generation, settings: { ...queue.settings }, c: nowMs, v: 1 },
    require: [absent],
    otherwise: "reload",
  },
  ...partitionsOf(queue).map(
    (p): Write => ({
      kind: "put",
      key: tailKey(p),
      item: { next: 0, settled: 0, dead: 0 },
      require: [absent],
      otherwise: "reload",
    }),
  ),
  ...(isLimited(queue.settings) ? [createCapacity(queue)] : []),
];

export const readQueue = (name: string, item: Item): Queue => {
  const settings = map(item, "settings");
  const fields = Object.keys(defaultSettings).map((field) => {
    if (settings[field] === undefined) throw new Unreadable(item, `settings lack ${field}`);
    return [field, settings[field]];
  });
  return { name, generation: text(item, "g"), settings: Object.fromEntries(fields) as QueueSettings };
};

/** A tail's counters: the next position (every enqueue began counts), settled and dead-lettered messages. */
export interface Tail {
  readonly enqueued: number;
  readonly settled: number;
  readonly deadLettered: number;
}

export const readTail = (item: Item): Tail => ({
  enqueued: whole(item, "next"),
  settled: wholeOrZero(item, "settled"),
  deadLettered: wholeOrZero(item, "dead"),
});

type Counting = Extract<Write, { kind: "update" }>;

/** Counts at a tail; fails once the queue is deleted, so that nobody enqueues to it from an old copy of its settings. */
export const countEnqueued = (p: PartitionRef, messages: number): Counting => ({
  ...counting(p, [[["next"], messages]]),
  require: [present, { is: "lacks", path: ["closed"] }],
});

/** Fails once the tail is sealed: then nothing is left on the queue that could be settled. */
export const countSettled = (p: PartitionRef, settled: number, deadLettered: number): Counting => ({
  ...counting(p, [
    ...(settled > 0 ? [[["settled"], settled] as const] : []),
    ...(deadLettered > 0 ? [[["dead"], deadLettered] as const] : []),
  ]),
  require: [present, { is: "lacks", path: ["sealed"] }],
});

/** From here on a deleted queue's tail never changes; only when nothing is left on the queue. */
export const sealTail = (p: PartitionRef): Write => ({
  kind: "update",
  key: tailKey(p),
  change: { set: [[["sealed"], true]] },
  require: [present, { is: "has", path: ["closed"] }],
  otherwise: "reload",
});

const counting = (p: PartitionRef, add: NonNullable<Counting["change"]["add"]>): Counting => ({
  kind: "update",
  key: tailKey(p),
  change: { add },
  require: [present],
  otherwise: "reload",
});

/** The position that an enqueue of so many messages got, from the counter after it. */
export const positionFrom = (counted: Item, messages: number): number => whole(counted, "next") - messages;

/** What a limited queue has left; absent limits are left out. */
export interface Capacity {
  readonly messages?: number;
  readonly bytes?: number;
}

export const readCapacity = (item: Item): Capacity => ({
  ...("m" in item && { messages: whole(item, "m") }),
  ...("b" in item && { bytes: whole(item, "b") }),
});

/** Whether any message with a time to live of its own was ever put on the queue of this capacity record. */
export const hadEndings = (item: Item): boolean => item.e === true;

const createCapacity = (queue: Queue): Write => ({
  kind: "put",
  key: capacityKey(queue),
  item: {
    ...(queue.settings.maxMessages !== null && { m: queue.settings.maxMessages }),
    ...(queue.settings.maxBytes !== null && { b: queue.settings.maxBytes }),
  },
  require: [absent],
  otherwise: "reload",
});

/** Messages and body bytes that enter and leave a limited queue in one commit. */
export interface Flow {
  readonly inMessages: number;
  readonly inBytes: number;
  readonly outMessages: number;
  readonly outBytes: number;
  /** Some of what enters brings a time to live of its own. */
  readonly endsByItself?: boolean;
}

export const noFlow: Flow = { inMessages: 0, inBytes: 0, outMessages: 0, outBytes: 0 };

export const addFlow = (a: Flow, b: Partial<Flow>): Flow => ({
  inMessages: a.inMessages + (b.inMessages ?? 0),
  inBytes: a.inBytes + (b.inBytes ?? 0),
  outMessages: a.outMessages + (b.outMessages ?? 0),
  outBytes: a.outBytes + (b.outBytes ?? 0),
  ...((a.endsByItself === true || b.endsByItself === true) && { endsByItself: true }),
});

/**
 * Moves a limited queue's capacity. `dropped`: what leaves in the same commit to make room counts before what enters; what
 * a branch removes does not, because it might not. Nothing to write for a queue without limits.
 */
export const moveCapacity = (queue: Queue, flow: Flow, dropped: Flow = noFlow): readonly Write[] => {
  const { maxMessages, maxBytes } = queue.settings;
  const messages = dropped.outMessages + flow.outMessages - flow.inMessages;
  const bytes = dropped.outBytes + flow.outBytes - flow.inBytes;
  if (!isLimited(queue.settings) || (messages === 0 && bytes === 0 && flow.inMessages === 0)) return [];
  const enters = flow.inMessages > 0;
  return [
    {
      kind: "update",
      key: capacityKey(queue),
      change: {
        add: [
          ...(maxMessages !== null ? [[["m"], messages] as const] : []),
          ...(maxBytes !== null ? [[["b"], bytes] as const] : []),
        ],
        ...(flow.endsByItself === true && { set: [[["e"], true]] }),
      },
      require: [
        present,
        ...(enters && maxMessages !== null
          ? [{ is: "at-least", path: ["m"], value: flow.inMessages - dropped.outMessages } as const]
          : []),
        ...(enters && maxBytes !== null
          ? [{ is: "at-least", path: ["b"], value: flow.inBytes - dropped.outBytes } as const]
          : []),
      ],
      otherwise: "reload",
    },
  ];
};

/** A deleted queue until the last of its messages is swept. */
export interface DeletedQueue extends Queue {
  readonly deletedAtMs: number;
}

/** Deletes a queue's name and closes its tails, for one commit; what it held is swept later. */
export const deleteQueue = (queue: Queue, nowMs: number): readonly Write[] => [
  {
    kind: "delete",
    key: settingsKey(queue.name),
    require: [{ is: "equal", path: ["g"], value: queue.generation }],
    otherwise: "reload",
  },
  {
    kind: "put",
    key: deletedQueueKey(queue),
    item: { g: queue.generation, settings: { ...queue.settings }, at: nowMs },
    require: [absent],
    otherwise: "reload",
  },
  ...partitionsOf(queue).map(
    (p): Write => ({
      kind: "update",
      key: tailKey(p),
      change: { set: [[["closed"], true]] },
      require: [present],
      otherwise: "reload",
    }),
  ),
];

export const readDeletedQueue = (item: Item): DeletedQueue => {
  if (item.pk !== deletedQueuePk) throw new Unreadable(item, "is not a deleted queue");
  const [name = ""] = text(item, "sk").split("#");
  if (!isMap(item.settings)) throw new Unreadable(item, "settings is not a map");
  return { ...readQueue(name, item), deletedAtMs: whole(item, "at") };
};

/** The end of a deleted queue whose counters the store has taken over. At most 64 partitions: one commit. */
export const buryQueue = (
  queue: QueueRef,
  partitions: readonly PartitionRef[],
  isQueueLimited: boolean,
): readonly Write[] => [
  { kind: "delete", key: deletedQueueKey(queue), require: [present], otherwise: "reload" },
  ...partitions.map((p): Write => ({ kind: "delete", key: tailKey(p), require: [], otherwise: "reload" })),
  ...(isQueueLimited ? [{ kind: "delete", key: capacityKey(queue), require: [], otherwise: "reload" } as const] : []),
];
