import { describe, expect, it } from "vitest";
import {
  availableOn,
  begin,
  bodiesOf,
  browseAll,
  consume,
  countsOf,
  drain,
  endAndPrepare,
  enqueueBodies,
  expectOk,
  expectXa,
  newQueue,
  newSession,
  take,
} from "../support/moves.ts";
import { newXid } from "../support/names.ts";
import { expectOutcomes, idsOf } from "../support/outcomes.ts";
import { wait } from "../support/poll.ts";
import { useService } from "../support/service.ts";
import type { QueueSettings } from "../support/shapes.ts";

const service = useService();
const c = service.client;

/** A queue with a dead-letter queue. */
async function withLetters(settings: QueueSettings): Promise<{ queue: string; letters: string }> {
  const letters = await newQueue(c);
  return { letters, queue: await newQueue(c, [], { ...settings, deadLetterQueue: letters }) };
}

describe.concurrent("time to live", () => {
  it.each([
    ["the queue's", { messageTtlSeconds: 1 }, undefined],
    ["its own", {}, 1],
    ["its own when smaller", { messageTtlSeconds: 600 }, 1],
    ["the queue's when smaller", { messageTtlSeconds: 1 }, 600],
  ] as const)("%s: over, the message goes to the dead-letter queue", async (_name, settings, ttlSeconds) => {
    const { queue, letters } = await withLetters(settings);
    const message = { body: "a", messageId: "m", ...(ttlSeconds === undefined ? {} : { ttlSeconds }) };
    expectOk(await c.enqueue(queue, [message]), 201);
    await wait(1100);
    expect(await countsOf(c, queue)).toEqual({ available: 0, leased: 0, held: 0 });
    expect(await bodiesOf(c, queue)).toEqual([]);
    expect(await take(c, queue)).toEqual([]);
    expect(await browseAll(c, letters)).toMatchObject([
      { body: "a", messageId: "m", deadLetter: { queue, reason: "expired" } },
    ]);
    expect(await c.stats(queue)).toMatchObject({ settled: "0", deadLettered: "1" });
    await wait(1100);
    expect(await bodiesOf(c, letters), "its time to live was for its first queue").toEqual(["a"]);
  });

  it("without a dead-letter queue it is dropped and counted as settled", async () => {
    const queue = await newQueue(c, ["a", "b"], { messageTtlSeconds: 1 });
    await wait(1100);
    expect(await take(c, queue)).toEqual([]);
    expect(await c.stats(queue)).toMatchObject({ available: "0", settled: "2", deadLettered: "0" });
  });

  it("takes only those whose time is over, and keeps the order of the rest and of the letters", async () => {
    const { queue, letters } = await withLetters({});
    const messages = Array.from({ length: 8 }, (_, i) => ({ body: `${i}`, ...(i % 2 === 0 ? { ttlSeconds: 1 } : {}) }));
    expectOk(await c.enqueue(queue, messages), 201);
    await wait(1100);
    expect(await bodiesOf(c, queue)).toEqual(["1", "3", "5", "7"]);
    expect((await take(c, queue, 10)).map((delivery) => delivery.body)).toEqual(["1", "3", "5", "7"]);
    expect(await bodiesOf(c, letters)).toEqual(["0", "2", "4", "6"]);
  });

  it("is not over before its time", async () => {
    const queue = await newQueue(c, ["a"], { messageTtlSeconds: 600 });
    await wait(1100);
    expect(await bodiesOf(c, queue)).toEqual(["a"]);
  });

  it("does not take what somebody has: an accept in time is an accept", async () => {
    const { queue, letters } = await withLetters({ messageTtlSeconds: 4 });
    await enqueueBodies(c, queue, ["a", "b", "c"]);
    const deliveries = await take(c, queue, 3, 60);
    const [a, b, last] = idsOf(deliveries) as [string, string, string];
    await wait(4100);
    expect(await countsOf(c, queue)).toEqual({ available: 0, leased: 3, held: 0 });
    expectOutcomes(await c.accept([a]), [a], ["accepted"]);
    expectOutcomes(await c.extend([b], 60), [b], ["extended"]);
    expectOutcomes(await c.release([last]), [last], ["released"]);
    expect(await bodiesOf(c, letters), "released after its time it is dead").toEqual(["c"]);
    expect(await countsOf(c, queue)).toEqual({ available: 0, leased: 1, held: 0 });
  });

  it("does not take what a branch holds; a rollback after its time gives it to the dead letters", async () => {
    const s = await newSession(c);
    const { queue, letters } = await withLetters({ messageTtlSeconds: 4 });
    const [committed, rolledBack] = [newXid(), newXid()];
    await enqueueBodies(c, queue, ["a", "b"]);
    await consume(await begin(s, committed), queue);
    await endAndPrepare(s, committed);
    await consume(await begin(s, rolledBack), queue);
    await wait(4100);
    expect(await countsOf(c, queue)).toEqual({ available: 0, leased: 0, held: 2 });
    expectXa(await s.commit(committed), "XA_OK");
    expectXa(await s.end(rolledBack), "XA_OK");
    expectXa(await s.rollback(rolledBack), "XA_OK");
    expect(await take(c, queue)).toEqual([]);
    expect(await bodiesOf(c, letters)).toEqual(["b"]);
  });

  it("begins when the message stands on the queue, so a branch that takes longer loses nothing", async () => {
    const s = await newSession(c);
    const queue = await newQueue(c, [], { messageTtlSeconds: 3 });
    const xid = newXid();
    await enqueueBodies(await begin(s, xid), queue, ["a"]);
    await endAndPrepare(s, xid);
    await wait(3100);
    expectXa(await s.commit(xid), "XA_OK");
    expect(await bodiesOf(c, queue)).toEqual(["a"]);
  });
});

describe.concurrent("retention", () => {
  it("over, drops the message, never to the dead-letter queue, and counts it", async () => {
    const { queue, letters } = await withLetters({ retentionSeconds: 1 });
    await enqueueBodies(c, queue, ["a", "b"]);
    await wait(1100);
    expect(await countsOf(c, queue)).toEqual({ available: 0, leased: 0, held: 0 });
    expect(await take(c, queue)).toEqual([]);
    expect(await bodiesOf(c, queue)).toEqual([]);
    expect(await availableOn(c, letters)).toEqual([0]);
    expect(await c.stats(queue)).toMatchObject({ settled: "2", deadLettered: "0" });
  });

  it("drops a released message whose time is over", async () => {
    const { queue, letters } = await withLetters({ retentionSeconds: 3, maxDeliveries: 1 });
    await enqueueBodies(c, queue, ["a", "b"]);
    const [a, b] = idsOf(await take(c, queue, 2, 60)) as [string, string];
    await wait(3100);
    expectOutcomes(await c.release([a]), [a], ["released"]);
    expectOutcomes(await c.accept([b]), [b], ["accepted"]);
    expect(await availableOn(c, letters, queue)).toEqual([0, 0]);
  });

  it("not over, keeps large bodies and small ones", async () => {
    const bodies = ["small", "x".repeat(50_000)];
    const queue = await newQueue(c, bodies, { retentionSeconds: 600, messageTtlSeconds: 600 });
    expect((await drain(c, queue)).map((delivery) => delivery.body)).toEqual(bodies);
  });
});
