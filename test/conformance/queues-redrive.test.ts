import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { bodiesOf, drain, enqueueBodies, expectOk, expectRefused, newQueue, take } from "../support/moves.ts";
import { unique } from "../support/names.ts";
import { idsOf } from "../support/outcomes.ts";
import { useService } from "../support/service.ts";
import type { QueueSettings } from "../support/shapes.ts";

const service = useService();
const c = service.client;

/** A queue whose messages were all rejected, and where they are now. */
const rejected = async (bodies: readonly string[], settings: QueueSettings = {}) => {
  const letters = await newQueue(c);
  const queue = await newQueue(c, bodies, { deadLetterQueue: letters, ...settings });
  expectOk(await c.reject(idsOf(await take(c, queue, 500)), "not mine"));
  return { queue, letters };
};

describe("a redrive", () => {
  it("puts dead letters back where they came from, in order, as new messages with their ids", async () => {
    const bodies = ["1", "2", "3"];
    const { queue, letters } = await rejected(bodies);
    const before = expectOk(await c.browse(letters)).messages;
    expect(before[0]?.deadLetter).toMatchObject({ queue, reason: "rejected", note: "not mine", deliveryCount: 1 });
    await enqueueBodies(c, queue, ["4"]);
    expect(expectOk(await c.redrive(letters))).toEqual({ redriven: 3, left: 0, more: false });
    expect(await bodiesOf(c, letters)).toEqual([]);
    await service.restart();
    const deliveries = await drain(c, queue);
    expect(deliveries.map(({ body }) => body)).toEqual(["4", ...bodies]);
    expect(deliveries.slice(1).map(({ messageId }) => messageId)).toEqual(before.map(({ messageId }) => messageId));
    for (const { redelivered, deadLetter } of deliveries)
      expect({ redelivered, deadLetter }).toEqual({ redelivered: false, deadLetter: undefined });
    expect(await c.stats(letters)).toMatchObject({ enqueued: "3", settled: "3", deadLettered: "0" });
  });

  it("is not swallowed by deduplication", async () => {
    const letters = await newQueue(c);
    const queue = await newQueue(c, [], { deadLetterQueue: letters });
    const message = { body: "once", deduplicationId: "d" };
    expectOk(await c.enqueue(queue, [message]), 201);
    expectOk(await c.reject(idsOf(await take(c, queue))));
    expect(expectOk(await c.enqueue(queue, [message]), 201).messages[0]?.duplicate).toBe(true);
    expect(expectOk(await c.redrive(letters)).redriven).toBe(1);
    expect(await bodiesOf(c, queue)).toEqual(["once"]);
  });

  it("sends each to its own queue; what is no dead letter, leased, or has no queue left, stays", async () => {
    const letters = await newQueue(c, ["put here"]);
    const [a, b, gone] = [
      await newQueue(c, ["a1", "a2"], { deadLetterQueue: letters }),
      await newQueue(c, ["b1"], { deadLetterQueue: letters }),
      await newQueue(c, ["gone"], { deadLetterQueue: letters }),
    ];
    for (const queue of [a, b, gone, a]) expectOk(await c.reject(idsOf(await take(c, queue))));
    expectOk(await c.deleteQueue(gone), 204);
    const [here, a1] = await take(c, letters, 2);
    expectOk(await c.release([here?.deliveryId ?? ""]));
    expect(a1?.body).toBe("a1");
    expect(expectOk(await c.redrive(letters))).toEqual({ redriven: 2, left: 1, more: false });
    expect([await bodiesOf(c, a), await bodiesOf(c, b)]).toEqual([["a2"], ["b1"]]);
    expect(await bodiesOf(c, letters)).toEqual(["put here", "gone"]);
    expectOk(await c.release([a1?.deliveryId ?? ""]));
    expect(expectOk(await c.redrive(letters)).redriven).toBe(1);
    expect(await bodiesOf(c, a)).toEqual(["a2", "a1"]);
  });

  it("sends all to the queue that it names, what is no dead letter too", async () => {
    const { letters } = await rejected(["1"]);
    await enqueueBodies(c, letters, ["put here"]);
    const other = await newQueue(c);
    const before = expectOk(await c.browse(letters)).messages;
    expect(expectOk(await c.redrive(letters, other))).toEqual({ redriven: 2, left: 0, more: false });
    const after = expectOk(await c.browse(other)).messages;
    expect(after.map(({ body }) => body)).toEqual(["1", "put here"]);
    expect(after.map(({ messageId }) => messageId)).toEqual(before.map(({ messageId }) => messageId));
  });

  it.each([{ maxMessages: 3 }, { maxMessages: 3, overflow: "ring" }, { maxBytes: 3 }] as const)(
    "leaves behind what a full queue has no room for, drops nothing, and keeps the order (%o)",
    async (limits) => {
      const { queue, letters } = await rejected(["1", "2", "3"], limits);
      await enqueueBodies(c, queue, ["x"]);
      expect(expectOk(await c.redrive(letters))).toEqual({ redriven: 2, left: 1, more: false });
      expect([await bodiesOf(c, queue), await bodiesOf(c, letters)]).toEqual([["x", "1", "2"], ["3"]]);
      expect(expectOk(await c.redrive(letters))).toEqual({ redriven: 0, left: 1, more: false });
      await drain(c, queue);
      expect(expectOk(await c.redrive(letters)).redriven).toBe(1);
      await enqueueBodies(c, queue, ["y", "z"]);
      expect(await bodiesOf(c, queue)).toEqual(["3", "y", "z"]);
    },
  );

  it("finds room where what time has ended still stands", async () => {
    const { queue, letters } = await rejected(["1"], { maxMessages: 1 });
    expectOk(await c.enqueue(queue, [{ body: "brief", ttlSeconds: 1 }]), 201);
    expect(expectOk(await c.redrive(letters))).toEqual({ redriven: 0, left: 1, more: false });
    await sleep(1_100);
    expect(expectOk(await c.redrive(letters))).toMatchObject({ redriven: 1 });
    expect(await bodiesOf(c, queue)).toEqual(["1"]);
  });

  it("moves large bodies and many of them", async () => {
    const bodies = Array.from({ length: 250 }, (_, i) => `${i} ${"x".repeat(i % 50 === 0 ? 20_000 : 10)}`);
    const { queue, letters } = await rejected(bodies);
    expect(expectOk(await c.redrive(letters)).redriven).toBe(250);
    expect((await drain(c, queue)).map(({ body }) => body)).toEqual(bodies);
    expect(await c.stats(letters)).toMatchObject({ available: "0" });
  });

  it("is refused for unknown queues and for the queue itself", async () => {
    const queue = await newQueue(c);
    expectRefused(await c.redrive(unique()), "not-found");
    expectRefused(await c.redrive(queue, unique()), "not-found");
    expectRefused(await c.redrive(queue, queue), "invalid-argument");
  });
});
