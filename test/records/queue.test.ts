import { describe, expect, it } from "vitest";
import { defaultSettings, type Queue, type QueueSettings } from "../../shared/domain/queue.ts";
import { tailKey } from "../../shared/records/keys.ts";
import {
  addFlow,
  buryQueue,
  countEnqueued,
  countSettled,
  createQueue,
  deleteQueue,
  hadEndings,
  moveCapacity,
  noFlow,
  positionFrom,
  readCapacity,
  readDeletedQueue,
  readQueue,
  readTail,
  sealTail,
} from "../../shared/records/queue.ts";
import { Unreadable } from "../../shared/records/reading.ts";
import type { Item, Write } from "../../shared/records/write.ts";
import { stored } from "./stored.ts";

const queueOf = (settings: Partial<QueueSettings> = {}): Queue => ({
  name: "q",
  generation: "g",
  settings: { ...defaultSettings, ...settings },
});
const partition = (number: number) => ({ name: "q", generation: "g", partition: number });
const settingsKey = { pk: "QUEUE#q", sk: "SETTINGS" };
const capacityKey = { pk: "QUEUE#q", sk: "CAPACITY#g" };
const deletedKey = { pk: "DELETED", sk: "q#g" };
const reload = "reload" as const;
const absent = { is: "absent" };
const present = { is: "present" };

const itemAt = (writes: readonly Write[], sk: string): Item => {
  const write = writes.find(({ key }) => key.sk === sk);
  return write?.kind === "put" ? stored(write.key, write.item) : {};
};

describe("a new queue", () => {
  it("has its settings and a tail a partition, where nothing was", () => {
    const queue = queueOf({ partitions: 2, deadLetterQueue: "d" });
    const tail = { next: 0, settled: 0, dead: 0 };
    expect(createQueue(queue, 99)).toEqual([
      {
        kind: "put",
        key: settingsKey,
        item: { g: "g", settings: queue.settings, c: 99, v: 1 },
        require: [absent],
        otherwise: reload,
      },
      { kind: "put", key: tailKey(partition(0)), item: tail, require: [absent], otherwise: reload },
      { kind: "put", key: tailKey(partition(1)), item: tail, require: [absent], otherwise: reload },
    ]);
  });

  it.each<[Partial<QueueSettings>, Item]>([
    [{ maxMessages: 5 }, { m: 5 }],
    [{ maxBytes: 7 }, { b: 7 }],
    [
      { maxMessages: 5, maxBytes: 7 },
      { m: 5, b: 7 },
    ],
  ])("of limits %j has room for all of them", (limits, item) => {
    expect(createQueue(queueOf(limits), 99).at(-1)).toEqual({
      kind: "put",
      key: capacityKey,
      item,
      require: [absent],
      otherwise: reload,
    });
  });

  it("reads back as it was declared", () => {
    const queue = queueOf({ maxMessages: 5, overflow: "ring", partitions: 3 });
    expect(readQueue("q", itemAt(createQueue(queue, 99), "SETTINGS"))).toEqual(queue);
  });

  it("cannot be read without one of its settings, or without a generation", () => {
    const item = itemAt(createQueue(queueOf(), 99), "SETTINGS");
    const { overflow, ...others } = item.settings as Record<string, string>;
    expect(() => readQueue("q", { ...item, settings: others })).toThrow("settings lack overflow");
    expect(() => readQueue("q", { ...item, settings: undefined })).toThrow(Unreadable);
    expect(() => readQueue("q", { ...item, g: undefined })).toThrow(Unreadable);
  });
});

describe("a tail", () => {
  it("counts enqueues only while the queue is not deleted", () => {
    expect(countEnqueued(partition(0), 3)).toEqual({
      kind: "update",
      key: tailKey(partition(0)),
      change: { add: [[["next"], 3]] },
      require: [present, { is: "lacks", path: ["closed"] }],
      otherwise: reload,
    });
  });

  it.each<[number, number, readonly unknown[]]>([
    [2, 0, [[["settled"], 2]]],
    [0, 3, [[["dead"], 3]]],
    [
      1,
      1,
      [
        [["settled"], 1],
        [["dead"], 1],
      ],
    ],
    [0, 0, []],
  ])("counts %i settled and %i dead-lettered, deleted or not, until it is sealed", (settled, dead, add) => {
    expect(countSettled(partition(0), settled, dead)).toEqual({
      kind: "update",
      key: tailKey(partition(0)),
      change: { add },
      require: [present, { is: "lacks", path: ["sealed"] }],
      otherwise: reload,
    });
  });

  it("is sealed only when its queue is deleted", () => {
    expect(sealTail(partition(0))).toEqual({
      kind: "update",
      key: tailKey(partition(0)),
      change: { set: [[["sealed"], true]] },
      require: [present, { is: "has", path: ["closed"] }],
      otherwise: reload,
    });
  });

  it("reads as its counters; what was never counted is 0", () => {
    expect(readTail({ next: 5, settled: 2, dead: 1 })).toEqual({ enqueued: 5, settled: 2, deadLettered: 1 });
    expect(readTail({ next: 5 })).toEqual({ enqueued: 5, settled: 0, deadLettered: 0 });
    expect(() => readTail({ settled: 1 })).toThrow(Unreadable);
  });

  it("gives an enqueue the position before what it counted", () => {
    expect(positionFrom({ next: 12 }, 5)).toBe(7);
  });
});

describe("flows", () => {
  it("add up", () => {
    const some = { inMessages: 1, inBytes: 20, outMessages: 300, outBytes: 4000 };
    const more = { inMessages: 5, inBytes: 60, outMessages: 700, outBytes: 8000 };
    expect(addFlow(some, more)).toEqual({ inMessages: 6, inBytes: 80, outMessages: 1000, outBytes: 12_000 });
    expect(addFlow(some, {})).toEqual(some);
    expect(noFlow).toEqual({ inMessages: 0, inBytes: 0, outMessages: 0, outBytes: 0 });
  });

  it("remember that something of them ends by itself", () => {
    const ends = { endsByItself: true };
    expect(addFlow(addFlow(noFlow, ends), {})).toEqual({ ...noFlow, ...ends });
    expect(addFlow(noFlow, ends)).toEqual({ ...noFlow, ...ends });
    expect(addFlow(noFlow, { endsByItself: false })).toEqual(noFlow);
  });
});

describe("the capacity of a queue", () => {
  const enters = { ...noFlow, inMessages: 2, inBytes: 30 };
  const leaves = { ...noFlow, outMessages: 1, outBytes: 10 };
  const atLeast = (path: string, value: number) => ({ is: "at-least", path: [path], value });

  it.each([
    ["of one without limits", queueOf(), enters],
    ["by nothing", queueOf({ maxMessages: 5, maxBytes: 7 }), noFlow],
  ])("is not moved: %s", (_, queue, flow) => {
    expect(moveCapacity(queue, flow)).toEqual([]);
  });

  it.each<[string, Partial<QueueSettings>, readonly unknown[], readonly unknown[]]>([
    ["messages", { maxMessages: 5 }, [[["m"], -2]], [present, atLeast("m", 2)]],
    ["bytes", { maxBytes: 50 }, [[["b"], -30]], [present, atLeast("b", 30)]],
    [
      "both",
      { maxMessages: 5, maxBytes: 50 },
      [
        [["m"], -2],
        [["b"], -30],
      ],
      [present, atLeast("m", 2), atLeast("b", 30)],
    ],
  ])("is asked for what enters: %s", (_, limits, add, require) => {
    expect(moveCapacity(queueOf(limits), enters)).toEqual([
      { kind: "update", key: capacityKey, change: { add }, require, otherwise: reload },
    ]);
  });

  it("is given what leaves, whatever else is there", () => {
    expect(moveCapacity(queueOf({ maxMessages: 5, maxBytes: 50 }), leaves)).toEqual([
      {
        kind: "update",
        key: capacityKey,
        change: {
          add: [
            [["m"], 1],
            [["b"], 10],
          ],
        },
        require: [present],
        otherwise: reload,
      },
    ]);
  });

  it("counts what is dropped to make room before what enters, and what leaves besides only after it", () => {
    const [write] = moveCapacity(queueOf({ maxMessages: 5, maxBytes: 50 }), addFlow(enters, leaves), {
      ...noFlow,
      outMessages: 4,
      outBytes: 25,
    });
    expect(write).toMatchObject({
      change: {
        add: [
          [["m"], 3],
          [["b"], 5],
        ],
      },
      require: [present, atLeast("m", -2), atLeast("b", 5)],
    });
  });

  it("is asked though as much leaves as enters, and given though only bytes do", () => {
    const queue = queueOf({ maxMessages: 5, maxBytes: 50 });
    expect(moveCapacity(queue, { inMessages: 1, inBytes: 5, outMessages: 1, outBytes: 5 })).toHaveLength(1);
    expect(moveCapacity(queue, { ...noFlow, outMessages: 1 })).toHaveLength(1);
    expect(moveCapacity(queue, { ...noFlow, outBytes: 1 })).toHaveLength(1);
  });

  it("notes that something ends by itself", () => {
    const [write] = moveCapacity(queueOf({ maxMessages: 5 }), { ...enters, endsByItself: true });
    expect(write).toMatchObject({ change: { set: [[["e"], true]] } });
    expect([{ e: true }, { e: false }, {}].map(hadEndings)).toEqual([true, false, false]);
  });

  it("reads back by what is limited", () => {
    expect([{ m: 3 }, { b: 4 }, { m: 3, b: 4 }, {}].map(readCapacity)).toEqual([
      { messages: 3 },
      { bytes: 4 },
      { messages: 3, bytes: 4 },
      {},
    ]);
    expect(() => readCapacity({ m: "3" })).toThrow(Unreadable);
  });
});

describe("the end of a queue", () => {
  it("takes its name at once, of this life only, and closes its tails", () => {
    const queue = queueOf({ partitions: 2 });
    const closing = { change: { set: [[["closed"], true]] }, require: [present], otherwise: reload };
    expect(deleteQueue(queue, 99).slice(0, 4)).toEqual([
      {
        kind: "delete",
        key: settingsKey,
        require: [{ is: "equal", path: ["g"], value: "g" }],
        otherwise: reload,
      },
      {
        kind: "put",
        key: deletedKey,
        item: { g: "g", settings: queue.settings, at: 99 },
        require: [absent],
        otherwise: reload,
      },
      { kind: "update", key: tailKey(partition(0)), ...closing },
      { kind: "update", key: tailKey(partition(1)), ...closing },
    ]);
  });

  it("is remembered with its settings and its time", () => {
    const queue = queueOf({ deadLetterQueue: "d" });
    const item = itemAt(deleteQueue(queue, 99), deletedKey.sk);
    expect(readDeletedQueue(item)).toEqual({ ...queue, deletedAtMs: 99 });
    expect(readDeletedQueue({ ...item, sk: "a.long-name#g" })).toMatchObject({ name: "a.long-name", generation: "g" });
    expect(() => readDeletedQueue({ ...item, pk: "QUEUE#q" })).toThrow("is not a deleted queue");
    expect(() => readDeletedQueue({ ...item, settings: "none" })).toThrow("settings is not a map");
    expect(() => readDeletedQueue({ ...item, at: undefined })).toThrow(Unreadable);
  });

  it.each([false, true])("takes all its records when it is buried; limited: %s", (isLimited) => {
    const gone = (key: object) => ({ kind: "delete", key, require: [], otherwise: reload });
    expect(buryQueue(queueOf(), [partition(0), partition(1)], isLimited)).toEqual([
      { kind: "delete", key: deletedKey, require: [present], otherwise: reload },
      gone(tailKey(partition(0))),
      gone(tailKey(partition(1))),
      ...(isLimited ? [gone(capacityKey)] : []),
    ]);
  });
});
