import { describe, expect, it } from "vitest";
import {
  availableOn,
  bodiesOf,
  browseAll,
  countsOf,
  drain,
  enqueueBodies,
  expectOk,
  newQueue,
  take,
} from "../support/moves.ts";
import { unique } from "../support/names.ts";
import { expectOutcomes, idsOf } from "../support/outcomes.ts";
import { wait } from "../support/poll.ts";
import { useService } from "../support/service.ts";
import type { QueueSettings } from "../support/shapes.ts";

const service = useService();
const c = service.client;

const numbered = (count: number): string[] => Array.from({ length: count }, (_, i) => `m-${i}`);

/** A queue with these bodies, and its dead-letter queue. */
async function withLetters(
  bodies: readonly string[],
  settings: QueueSettings = {},
  ofLetters: QueueSettings = {},
): Promise<{ queue: string; letters: string }> {
  const letters = await newQueue(c, [], ofLetters);
  return { letters, queue: await newQueue(c, bodies, { ...settings, deadLetterQueue: letters }) };
}

/** Messages that left a queue for nowhere, and those that its dead-letter queue took. */
async function gone(queue: string): Promise<{ settled: number; deadLettered: number }> {
  const { settled, deadLettered } = await c.stats(queue);
  return { settled: Number(settled), deadLettered: Number(deadLettered) };
}

describe("a rejected message", () => {
  it("goes to the dead-letter queue with all its fields and where it came from", async () => {
    const { queue, letters } = await withLetters([]);
    const message = {
      body: "AP8=",
      bodyEncoding: "base64" as const,
      messageId: "m-1",
      correlationId: "c-1",
      contentType: "application/octet-stream",
      replyTo: "replies",
      headers: { k: "v", n: 1 },
      priority: 3,
    };
    expectOk(await c.enqueue(queue, [message]), 201);
    const ids = idsOf(await take(c, queue));
    expectOutcomes(await c.reject(ids, "cannot read it"), ids, ["rejected"]);
    const [letter] = await browseAll(c, letters);
    expect(letter).toMatchObject({ ...message, deadLetter: { queue, reason: "rejected", deliveryCount: 1 } });
    expect(JSON.stringify(letter)).toContain("cannot read it");
    expect(await take(c, letters)).toMatchObject([{ ...message, redelivered: false, deliveryCount: 1 }]);
    expect(await gone(queue)).toEqual({ settled: 0, deadLettered: 1 });
    expectOutcomes(await c.reject(ids), ids, ["not-found"]);
  });

  it("is there over a restart, and only there", async () => {
    const { queue, letters } = await withLetters(["a", "b"]);
    await c.reject(idsOf(await take(c, queue)));
    await service.restart();
    expect(await bodiesOf(c, letters)).toEqual(["a"]);
    expect(await bodiesOf(c, queue)).toEqual(["b"]);
  });

  it("keeps its id when it was made by the service", async () => {
    const { queue, letters } = await withLetters(numbered(3));
    const deliveries = await take(c, queue, 3);
    await c.reject(idsOf(deliveries));
    expect((await browseAll(c, letters)).map((m) => m.messageId)).toEqual(deliveries.map((d) => d.messageId));
  });

  it("keeps the order of its queue, within a call and over several", async () => {
    const { queue, letters } = await withLetters(numbered(250));
    const ids = idsOf(await take(c, queue, 250, 300));
    await c.reject(ids.slice(0, 180).toReversed());
    await c.reject(ids.slice(180));
    expect(await bodiesOf(c, letters)).toEqual(numbered(250));
  });

  it("of a large body, and of a queue with partitions", async () => {
    const { queue, letters } = await withLetters([], { partitions: 3 }, { partitions: 2 });
    const bodies = Array.from({ length: 6 }, (_, i) => `${i}`.repeat(150_000));
    for (const body of bodies) await enqueueBodies(c, queue, [body]);
    await c.reject(idsOf(await take(c, queue, 10, 300)));
    expect((await bodiesOf(c, letters)).toSorted().every((body, i) => body === bodies[i])).toBe(true);
    expect(await drain(c, letters)).toHaveLength(6);
  });
});

describe("a message delivered maxDeliveries times", () => {
  it("is dead-lettered by its last release, not before", async () => {
    const { queue, letters } = await withLetters(["a", "b"], { maxDeliveries: 3 });
    for (let delivery = 1; delivery <= 3; delivery += 1) {
      expect(await availableOn(c, letters)).toEqual([0]);
      const [a] = await take(c, queue);
      expect(a).toMatchObject({ body: "a", deliveryCount: delivery });
      const ids = idsOf(a === undefined ? [] : [a]);
      expectOutcomes(await c.release(ids), ids, ["released"]);
    }
    expect(await browseAll(c, letters)).toMatchObject([{ body: "a", deadLetter: { queue, deliveryCount: 3 } }]);
    expect(await bodiesOf(c, queue)).toEqual(["b"]);
    expect(await gone(queue)).toEqual({ settled: 0, deadLettered: 1 });
  });

  it("also when released with a delay", async () => {
    const { queue, letters } = await withLetters(["a"], { maxDeliveries: 1 });
    await c.release(idsOf(await take(c, queue)), { delaySeconds: 600 });
    expect(await bodiesOf(c, letters)).toEqual(["a"]);
    expect(await countsOf(c, queue)).toEqual({ available: 0, leased: 0, held: 0 });
  });

  it("also when its last lease just ended: nobody gets it once more", async () => {
    const { queue, letters } = await withLetters(numbered(3), { maxDeliveries: 1 });
    await take(c, queue, 2, 1);
    await wait(1100);
    expect(await countsOf(c, queue)).toEqual({ available: 1, leased: 0, held: 0 });
    expect((await take(c, queue, 10)).map((d) => d.body)).toEqual(["m-2"]);
    expect(await bodiesOf(c, letters)).toEqual(["m-0", "m-1"]);
  });

  it("is dropped and counted when there is no dead-letter queue", async () => {
    const queue = await newQueue(c, ["a"], { maxDeliveries: 1 });
    await c.release(idsOf(await take(c, queue)));
    expect(await take(c, queue)).toEqual([]);
    expect(await gone(queue)).toEqual({ settled: 1, deadLettered: 0 });
  });

  it("may still be accepted under its last lease", async () => {
    const { queue, letters } = await withLetters(["a"], { maxDeliveries: 1 });
    const ids = idsOf(await take(c, queue));
    expectOutcomes(await c.accept(ids), ids, ["accepted"]);
    expect(await availableOn(c, letters)).toEqual([0]);
  });

  it("without a limit it comes back for ever", async () => {
    const { queue } = await withLetters(["a"], { maxDeliveries: 0 });
    for (let i = 0; i < 12; i += 1) await c.release(idsOf(await take(c, queue)));
    expect(await take(c, queue)).toMatchObject([{ deliveryCount: 13 }]);
  });

  it("starts counting anew on the dead-letter queue, and may go on to the next", async () => {
    const last = await newQueue(c);
    const middle = await newQueue(c, [], { deadLetterQueue: last, maxDeliveries: 2 });
    const queue = await newQueue(c, ["a"], { deadLetterQueue: middle, maxDeliveries: 1 });
    await c.release(idsOf(await take(c, queue)));
    for (const deliveryCount of [1, 2]) {
      const deliveries = await take(c, middle);
      expect(deliveries).toMatchObject([{ body: "a", deliveryCount }]);
      await c.release(idsOf(deliveries));
    }
    expect(await bodiesOf(c, last)).toEqual(["a"]);
  });
});

describe("a dead-letter queue", () => {
  it("that is not there drops and counts", async () => {
    const queue = await newQueue(c, numbered(3), { deadLetterQueue: unique("never") });
    const ids = idsOf(await take(c, queue, 2));
    expectOutcomes(await c.reject(ids), ids, ["rejected", "rejected"]);
    const { settled, deadLettered } = await gone(queue);
    expect(settled + deadLettered).toBe(2);
    expect(await bodiesOf(c, queue)).toEqual(["m-2"]);
  });

  it("that was deleted drops, and one declared again takes", async () => {
    const { queue, letters } = await withLetters(numbered(2));
    expectOk(await c.deleteQueue(letters), 204);
    await c.reject(idsOf(await take(c, queue)));
    expectOk(await c.declare(letters), 201);
    expect(await availableOn(c, letters)).toEqual([0]);
    await c.reject(idsOf(await take(c, queue)));
    expect(await bodiesOf(c, letters)).toEqual(["m-1"]);
  });

  it("that is full drops what does not fit, and counts all", async () => {
    const { queue, letters } = await withLetters(numbered(5), {}, { maxMessages: 2 });
    await c.reject(idsOf(await take(c, queue, 5)));
    expect(await bodiesOf(c, letters)).toHaveLength(2);
    const { settled, deadLettered } = await gone(queue);
    expect(settled + deadLettered).toBe(5);
    expect(await countsOf(c, queue)).toEqual({ available: 0, leased: 0, held: 0 });
  });

  it("that is a full ring drops its own oldest", async () => {
    const { queue, letters } = await withLetters(numbered(5), {}, { maxMessages: 2, overflow: "ring" });
    for (let i = 0; i < 5; i += 1) await c.reject(idsOf(await take(c, queue)));
    expect(await bodiesOf(c, letters)).toEqual(["m-3", "m-4"]);
    expect(await gone(letters)).toEqual({ settled: 3, deadLettered: 0 });
  });

  it("gives room back on the queue that the message leaves", async () => {
    const { queue, letters } = await withLetters(numbered(2), { maxMessages: 2 });
    await c.reject(idsOf(await take(c, queue)));
    await enqueueBodies(c, queue, ["new"]);
    expect(await bodiesOf(c, queue)).toEqual(["m-1", "new"]);
    expect(await bodiesOf(c, letters)).toEqual(["m-0"]);
  });

  it("two queues that are each other's pass a message back and forth", async () => {
    const [one, two] = [unique(), unique()];
    expectOk(await c.declare(one, { deadLetterQueue: two }), 201);
    expectOk(await c.declare(two, { deadLetterQueue: one }), 201);
    await enqueueBodies(c, one, ["a"]);
    for (const queue of [one, two, one]) await c.reject(idsOf(await take(c, queue)));
    expect(await availableOn(c, one, two)).toEqual([0, 1]);
  });
});
