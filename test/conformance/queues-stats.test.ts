import { describe, expect, it } from "vitest";
import {
  acceptAll,
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
import { idsOf } from "../support/outcomes.ts";
import { wait } from "../support/poll.ts";
import { useService } from "../support/service.ts";
import type { Delivery } from "../support/shapes.ts";

const service = useService();
const c = service.client;

const numbered = (count: number): string[] => Array.from({ length: count }, (_, i) => `m-${i}`);

/** The counters that only rise, as numbers. */
async function risen(queue: string): Promise<{ enqueued: number; settled: number; changes: bigint }> {
  const { enqueued, settled, changeCounter } = await c.stats(queue);
  return { enqueued: Number(enqueued), settled: Number(settled), changes: BigInt(changeCounter) };
}

describe("stats", () => {
  it("tell every message where it is: available, leased, delayed, held, gone", async () => {
    const s = await newSession(c);
    const queue = await newQueue(c, numbered(260), { leaseSeconds: 600 });
    const deliveries = await take(c, queue, 200);
    await c.accept(idsOf(deliveries.slice(0, 20)));
    await c.reject(idsOf(deliveries.slice(20, 30)));
    await c.release(idsOf(deliveries.slice(30, 60)));
    await c.release(idsOf(deliveries.slice(60, 75)), { delaySeconds: 600 });
    await acceptAll(await begin(s, newXid()), deliveries.slice(75, 80));
    const prepared = newXid();
    await acceptAll(await begin(s, prepared), deliveries.slice(80, 87));
    await endAndPrepare(s, prepared);
    // 60 never taken and 30 back; of the 200 taken 30 settled, 30 back, 15 delayed, 12 held.
    const wanted = { available: 90, leased: 113 + 15, held: 12 };
    expect(await countsOf(c, queue)).toEqual(wanted);
    expect(await c.stats(queue)).toMatchObject({ enqueued: "260", settled: "30", deadLettered: "0" });
    await service.restart();
    expect(await countsOf(c, queue)).toEqual(wanted);
    expect(await bodiesOf(c, queue)).toHaveLength(90);
    expect(await drain(c, queue)).toHaveLength(90);
  });

  it("do not count what waits on a branch, until it commits", async () => {
    const s = await newSession(c);
    const queue = await newQueue(c, ["a"]);
    const xid = newXid();
    await enqueueBodies(await begin(s, xid), queue, numbered(5));
    expect(await countsOf(c, queue)).toEqual({ available: 1, leased: 0, held: 0 });
    await endAndPrepare(s, xid);
    expect(await countsOf(c, queue)).toEqual({ available: 1, leased: 0, held: 0 });
    expectXa(await s.commit(xid), "XA_OK");
    expect(await countsOf(c, queue)).toEqual({ available: 6, leased: 0, held: 0 });
    expect(await c.stats(queue)).toMatchObject({ enqueued: "6", settled: "0" });
  });

  it("are decimal strings, and the age is a number or null", async () => {
    const { oldestAgeSeconds, ...counters } = await c.stats(await newQueue(c, ["a"]));
    for (const counter of Object.values(counters)) expect(counter).toMatch(/^(0|[1-9]\d*)$/);
    expect(Number.isInteger(oldestAgeSeconds)).toBe(true);
  });

  it("the change counter goes up with every enqueue and every dequeue, and never back", async () => {
    const s = await newSession(c);
    const queue = await newQueue(c);
    let before = await risen(queue);
    const grows = async (enqueued: number, settled: number, change: () => Promise<unknown>) => {
      await change();
      const after = await risen(queue);
      expect(after.enqueued - before.enqueued).toBe(enqueued);
      expect(after.settled - before.settled).toBe(settled);
      expect(after.changes - before.changes).toBe(BigInt(enqueued + settled));
      before = after;
    };
    await grows(1, 0, () => enqueueBodies(c, queue, ["a"]));
    await grows(120, 0, () => enqueueBodies(c, queue, numbered(120)));
    await grows(0, 3, () => consume(c, queue, 3));
    await grows(0, 1, async () => c.reject(idsOf(await take(c, queue))));
    await grows(0, 0, async () => c.release(idsOf(await take(c, queue, 2))));
    await grows(0, 2, () => c.acquire(queue, { maxMessages: 2, settle: "none" }));
    const xid = newXid();
    const branch = await begin(s, xid);
    await grows(0, 0, () => enqueueBodies(branch, queue, numbered(4)));
    await grows(0, 0, () => consume(branch, queue, 5));
    await grows(4, 5, async () => {
      expectXa(await s.end(xid), "XA_OK");
      expectXa(await s.commit(xid, { onePhase: true }), "XA_OK");
    });
    await grows(0, 114, () => c.purge(queue));
  });

  it("the oldest age is that of the oldest available message", async () => {
    const queue = await newQueue(c, ["old"], { leaseSeconds: 600 });
    await wait(2100);
    await enqueueBodies(c, queue, ["young"]);
    const { oldestAgeSeconds } = await c.stats(queue);
    expect(oldestAgeSeconds).toBeGreaterThanOrEqual(2);
    expect(oldestAgeSeconds).toBeLessThan(30);
    await consume(c, queue);
    expect((await c.stats(queue)).oldestAgeSeconds).toBeLessThan(oldestAgeSeconds ?? 0);
    await consume(c, queue);
    expect((await c.stats(queue)).oldestAgeSeconds).toBeNull();
  });
});

describe("browse", () => {
  it("shows the available messages in order, and takes nothing", async () => {
    const queue = await newQueue(c, numbered(5));
    const seen = await browseAll(c, queue);
    expect(seen.map((message) => message.body)).toEqual(numbered(5));
    expect(await browseAll(c, queue)).toEqual(seen);
    expect(await countsOf(c, queue)).toEqual({ available: 5, leased: 0, held: 0 });
    const delivered = await take(c, queue, 5);
    for (const [i, delivery] of delivered.entries()) {
      expect(delivery).toMatchObject({ ...seen[i], redelivered: false, deliveryCount: 1 });
    }
  });

  it("shows no delivery's fields, only the message's", async () => {
    const [message] = await browseAll(c, await newQueue(c, ["a"]));
    for (const field of ["deliveryId", "leaseExpiresAt", "deliveryCount", "redelivered"]) {
      expect(message).not.toHaveProperty(field);
    }
  });

  it("gives 100 when not asked for more, 1 to 500 when asked, and goes on with the cursor", async () => {
    const queue = await newQueue(c, numbered(510));
    for (const [limit, size] of [
      [undefined, 100],
      [1, 1],
      [499, 499],
      [500, 500],
    ] as const) {
      const page = expectOk(await c.browse(queue, limit === undefined ? {} : { limit }));
      expect(page.messages.map((message) => message.body)).toEqual(numbered(size));
      expect(page.cursor).toBeDefined();
      const next = expectOk(await c.browse(queue, { limit: 5, cursor: page.cursor }));
      expect(next.messages.map((message) => message.body)).toEqual(numbered(510).slice(size, size + 5));
    }
    const all = expectOk(await c.browse(queue, { limit: 500, after: (await browseAll(c, queue))[9]?.sequence }));
    expect(all.messages).toHaveLength(500);
  });

  it("after a sequence begins behind it, whatever became of that message", async () => {
    const queue = await newQueue(c, numbered(10));
    const sequences = (await browseAll(c, queue)).map((message) => message.sequence);
    await consume(c, queue, 4);
    for (const [after, first] of [
      [1, 4],
      [3, 4],
      [4, 5],
      [8, 9],
    ] as const) {
      const page = expectOk(await c.browse(queue, { after: sequences[after] }));
      expect(page.messages.map((message) => message.body)).toEqual(numbered(10).slice(first));
    }
    const page = expectOk(await c.browse(queue, { after: sequences[9] }));
    expect(page).toEqual({ messages: [] });
  });

  it("ends without a cursor; a page that is full by chance may lead to an empty one", async () => {
    const queue = await newQueue(c, numbered(4));
    const page = expectOk(await c.browse(queue, { limit: 4 }));
    expect(page.messages).toHaveLength(4);
    const rest = page.cursor === undefined ? [] : expectOk(await c.browse(queue, { cursor: page.cursor })).messages;
    expect(rest).toEqual([]);
    expect(expectOk(await c.browse(queue, { limit: 5 })).cursor).toBeUndefined();
    expect(expectOk(await c.browse(await newQueue(c)))).toEqual({ messages: [] });
  });

  it("passes over what is leased, delayed and held, and sees it again when it is back", async () => {
    const s = await newSession(c);
    const queue = await newQueue(c, numbered(6), { leaseSeconds: 600 });
    const [a, b, d] = (await take(c, queue, 3)) as [Delivery, Delivery, Delivery];
    const xid = newXid();
    await acceptAll(await begin(s, xid), [a]);
    await c.release([b.deliveryId], { delaySeconds: 600 });
    expect(await bodiesOf(c, queue)).toEqual(numbered(6).slice(3));
    expectXa(await s.end(xid), "XA_OK");
    expectXa(await s.rollback(xid), "XA_OK");
    await c.release([d.deliveryId]);
    expect(await bodiesOf(c, queue)).toEqual(["m-0", "m-2", "m-3", "m-4", "m-5"]);
  });

  it("goes on past messages that were taken between two pages", async () => {
    const queue = await newQueue(c, numbered(20));
    const page = expectOk(await c.browse(queue, { limit: 5 }));
    await consume(c, queue, 8);
    const rest = expectOk(await c.browse(queue, { cursor: page.cursor }));
    expect(rest.messages.map((message) => message.body)).toEqual(numbered(20).slice(8));
  });
});
