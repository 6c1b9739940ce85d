import { describe, expect, it } from "vitest";
import {
  acceptAll,
  availableOn,
  begin,
  bodiesOf,
  countsOf,
  drain,
  endAndPrepare,
  enqueueBodies,
  expectRefused,
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

describe("a ring", () => {
  it("drops its oldest for what comes, and counts them as settled", async () => {
    const letters = await newQueue(c);
    const queue = await newQueue(c, numbered(5), { maxMessages: 5, overflow: "ring", deadLetterQueue: letters });
    await enqueueBodies(c, queue, ["a"]);
    await enqueueBodies(c, queue, ["b", "d"]);
    expect(await bodiesOf(c, queue)).toEqual(["m-3", "m-4", "a", "b", "d"]);
    expect(await c.stats(queue)).toMatchObject({ available: "5", settled: "3", deadLettered: "0" });
    expect(await availableOn(c, letters), "dropped, not dead-lettered").toEqual([0]);
    await service.restart();
    await enqueueBodies(c, queue, numbered(5));
    expect((await drain(c, queue)).map((delivery) => delivery.body)).toEqual(numbered(5));
  });

  it("drops as many as the bytes need, and no more", async () => {
    const queue = await newQueue(c, ["a".repeat(40), "b".repeat(40), "c".repeat(20)], {
      maxBytes: 100,
      overflow: "ring",
    });
    await enqueueBodies(c, queue, ["d".repeat(30)]);
    expect((await bodiesOf(c, queue)).map((body) => body[0])).toEqual(["b", "c", "d"]);
    await enqueueBodies(c, queue, ["e".repeat(10)]);
    expect((await bodiesOf(c, queue)).map((body) => body[0])).toEqual(["b", "c", "d", "e"]);
    await enqueueBodies(c, queue, ["f".repeat(100)]);
    expect((await bodiesOf(c, queue)).map((body) => body[0])).toEqual(["f"]);
  });

  it("refuses a call larger than itself, and drops nothing for it", async () => {
    const queue = await newQueue(c, numbered(3), { maxMessages: 3, maxBytes: 100, overflow: "ring" });
    const four = numbered(4).map((body) => ({ body }));
    expectRefused(await c.enqueue(queue, four), "resource-limit-exceeded");
    expectRefused(await c.enqueue(queue, [{ body: "x".repeat(101) }]), "resource-limit-exceeded");
    expect(await bodiesOf(c, queue)).toEqual(numbered(3));
    expect(await c.stats(queue)).toMatchObject({ available: "3", settled: "0" });
  });

  it("drops only what is available: never the leased, the delayed, the held", async () => {
    const s = await newSession(c);
    const queue = await newQueue(c, numbered(5), { maxMessages: 5, overflow: "ring", leaseSeconds: 600 });
    const [leased, delayed, held] = (await take(c, queue, 3)) as [Delivery, Delivery, Delivery];
    await c.release([delayed.deliveryId], { delaySeconds: 600 });
    const xid = newXid();
    await acceptAll(await begin(s, xid), [held]);
    await endAndPrepare(s, xid);
    await enqueueBodies(c, queue, ["a"]);
    expect(await bodiesOf(c, queue)).toEqual(["m-4", "a"]);
    await enqueueBodies(c, queue, ["b", "d"]);
    expect(await bodiesOf(c, queue)).toEqual(["b", "d"]);
    const three = numbered(3).map((body) => ({ body }));
    expectRefused(await c.enqueue(queue, three), "resource-limit-exceeded");
    expect(await bodiesOf(c, queue)).toEqual(["b", "d"]);
    expect(await countsOf(c, queue)).toEqual({ available: 2, leased: 2, held: 1 });
    await c.release([leased.deliveryId]);
    expect(await bodiesOf(c, queue)).toEqual(["m-0", "b", "d"]);
    expectXa(await s.rollback(xid), "XA_OK");
    expect(await bodiesOf(c, queue)).toEqual(["m-0", "m-2", "b", "d"]);
  });

  it("with nothing available to drop refuses", async () => {
    const queue = await newQueue(c, numbered(2), { maxMessages: 2, overflow: "ring", leaseSeconds: 600 });
    const ids = idsOf(await take(c, queue, 2));
    expectRefused(await c.enqueue(queue, [{ body: "a" }]), "resource-limit-exceeded");
    expect(await countsOf(c, queue)).toEqual({ available: 0, leased: 2, held: 0 });
    await c.accept(ids.slice(0, 1));
    await enqueueBodies(c, queue, ["a"]);
  });

  it("makes room for a branch too; what is prepared is never dropped", async () => {
    const s = await newSession(c);
    const queue = await newQueue(c, numbered(4), { maxMessages: 4, overflow: "ring" });
    const xid = newXid();
    await enqueueBodies(await begin(s, xid), queue, ["x", "y"]);
    expect(await bodiesOf(c, queue), "publishing alone drops nothing").toEqual(numbered(4));
    await endAndPrepare(s, xid);
    await enqueueBodies(c, queue, ["a", "b"]);
    expectRefused(
      await c.enqueue(
        queue,
        numbered(3).map((body) => ({ body })),
      ),
      "resource-limit-exceeded",
    );
    expectXa(await s.commit(xid), "XA_OK");
    expect(await bodiesOf(c, queue)).toEqual(["a", "b", "x", "y"]);
    expect(await c.stats(queue)).toMatchObject({ available: "4", settled: "4" });
  });

  it("sends on what time has ended before it drops: such messages are dead letters here too", async () => {
    const letters = await newQueue(c);
    const settings = { maxMessages: 2, overflow: "ring", deadLetterQueue: letters, messageTtlSeconds: 1 } as const;
    const queue = await newQueue(c, ["a", "b"], settings);
    await wait(1_100);
    await enqueueBodies(c, queue, ["c", "d"]);
    expect(await bodiesOf(c, letters)).toEqual(["a", "b"]);
    expect(await bodiesOf(c, queue)).toEqual(["c", "d"]);
    expect(await c.stats(queue)).toMatchObject({ deadLettered: "2", settled: "0" });
    await wait(1_100);
    const s = await newSession(c);
    const xid = newXid();
    await enqueueBodies(await begin(s, xid), queue, ["e"]);
    await endAndPrepare(s, xid);
    expect((await bodiesOf(c, letters)).slice(0, 3)).toEqual(["a", "b", "c"]);
    expectXa(await s.rollback(xid), "XA_OK");
  });

  it("keeps what it has when another queue of the branch has no room", async () => {
    const ring = await newQueue(c, numbered(2), { maxMessages: 2, overflow: "ring" });
    const full = await newQueue(c, ["there"], { maxMessages: 1 });
    for (const queues of [
      [ring, full],
      [full, ring],
    ]) {
      const s = await newSession(c);
      const xid = newXid();
      const branch = await begin(s, xid);
      for (const queue of queues) await enqueueBodies(branch, queue, ["new"]);
      expectXa(await s.end(xid), "XA_OK");
      expectXa(await s.prepare(xid), "XA_RBROLLBACK");
      expect(await bodiesOf(c, ring)).toEqual(numbered(2));
      expectXa(await s.rollback(xid), "XA_OK");
    }
  });

  it("by many at once never holds more than its limit, and its newest stay", async () => {
    const queue = await newQueue(c, [], { maxMessages: 10, overflow: "ring" });
    await Promise.all(
      Array.from({ length: 6 }, async (_, enqueuer) => {
        for (let i = 0; i < 6; i += 1) await enqueueBodies(c, queue, [`${enqueuer}-${i}`]);
      }),
    );
    const left = await bodiesOf(c, queue);
    expect(left).toHaveLength(10);
    expect(new Set(left).size).toBe(10);
    await enqueueBodies(c, queue, numbered(10));
    expect(await bodiesOf(c, queue)).toEqual(numbered(10));
    expect(await countsOf(c, queue)).toEqual({ available: 10, leased: 0, held: 0 });
  });
});
