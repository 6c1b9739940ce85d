import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fnv1a } from "../../shared/domain/hash.ts";
import {
  defaultSettings,
  isLimited,
  partitionFor,
  partitionsOf,
  type QueueSettings,
  queueName,
  sameSettings,
  wireSequence,
} from "../../shared/domain/queue.ts";
import { contractDefaults } from "../support/settings.ts";

const others: QueueSettings = {
  messageDurability: "always",
  strictOrder: true,
  leaseSeconds: 31,
  maxDeliveries: 1,
  deadLetterQueue: "d",
  messageTtlSeconds: 1,
  retentionSeconds: 1,
  maxMessages: 1,
  maxBytes: 1,
  overflow: "ring",
  partitions: 2,
};

describe("settings", () => {
  it("are, without any given, those of the contract", () => {
    expect(defaultSettings).toEqual(contractDefaults);
  });

  it.each(Object.keys(others) as (keyof QueueSettings)[])("with another %s are others", (name) => {
    expect(sameSettings(defaultSettings, { ...defaultSettings })).toBe(true);
    expect(sameSettings(defaultSettings, { ...defaultSettings, [name]: others[name] })).toBe(false);
  });

  it.each<[Partial<QueueSettings>, boolean]>([
    [{}, false],
    [{ maxMessages: 0 }, true],
    [{ maxBytes: 0 }, true],
    [{ maxMessages: 1, maxBytes: 1 }, true],
  ])("%j: limited is %s", (given, expected) => {
    expect(isLimited({ ...defaultSettings, ...given })).toBe(expected);
  });
});

describe("partitions", () => {
  const queue = { name: "q", generation: "g", settings: { ...defaultSettings, partitions: 3 } };

  it("are named from 0 on", () => {
    const of = (partition: number) => ({ name: "q", generation: "g", partition });
    expect(partitionsOf(queue)).toEqual([of(0), of(1), of(2)]);
  });

  it("are chosen by the session, or by chance without one", () => {
    fc.assert(
      fc.property(fc.string(), fc.nat(), fc.integer({ min: 2, max: 64 }), (session, any, partitions) => {
        const settings = { ...defaultSettings, partitions };
        expect(partitionFor(settings, session, any)).toBe(fnv1a(session) % partitions);
        expect(partitionFor(settings, undefined, any)).toBe(any % partitions);
      }),
    );
  });

  it("are not chosen when there is one", () => {
    expect(partitionFor(defaultSettings, "s", 5)).toBe(0);
  });
});

describe("names and sequences", () => {
  it("tell one life of a queue's name from the next", () => {
    expect(queueName({ name: "q", generation: "g" })).toBe("q#g");
  });

  it("are unique in the queue and rise within a partition, past 2^53 too", () => {
    expect([0, 1].flatMap((position) => [0, 1, 2].map((p) => wireSequence(position, p, 3)))).toEqual(
      ["0", "1", "2", "3", "4", "5"], // the positions of three partitions, one after the other
    );
    expect(wireSequence(Number.MAX_SAFE_INTEGER, 63, 64)).toBe("576460752303423487");
  });
});
