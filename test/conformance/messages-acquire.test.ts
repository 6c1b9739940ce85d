import { describe, expect, it } from "vitest";
import {
  acceptAll,
  begin,
  bodiesOf,
  countsOf,
  drain,
  endAndPrepare,
  enqueueBodies,
  expectOk,
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

const bodies = (deliveries: readonly Delivery[]): string[] => deliveries.map((delivery) => delivery.body);

/** The deadline of a delivery, in seconds from now. */
const secondsLeft = (delivery: Delivery | undefined): number =>
  (Date.parse(delivery?.leaseExpiresAt ?? "") - Date.now()) / 1000;

describe("acquire", () => {
  it("gives one message when not asked for more, in order, and each to one caller", async () => {
    const queue = await newQueue(c, ["a", "b", "c"]);
    expect(bodies(expectOk(await c.acquire(queue)).deliveries)).toEqual(["a"]);
    expect(bodies(await take(c, queue))).toEqual(["b"]);
    expect(bodies(await take(c, queue, 500))).toEqual(["c"]);
    expect(await take(c, queue, 500)).toEqual([]);
  });

  it("needs no body at all", async () => {
    const queue = await newQueue(c, ["a"]);
    const answer = await c.call<{ deliveries: Delivery[] }>("POST", `/queues/${queue}/deliveries`);
    expect(bodies(expectOk(answer).deliveries)).toEqual(["a"]);
  });

  it("says of a first delivery that it is one, under an id of its own", async () => {
    const queue = await newQueue(c, numbered(120));
    const deliveries = await take(c, queue, 120);
    for (const delivery of deliveries) expect(delivery).toMatchObject({ redelivered: false, deliveryCount: 1 });
    expect(new Set(idsOf(deliveries)).size).toBe(120);
    for (const { leaseExpiresAt } of deliveries) expect(new Date(leaseExpiresAt).toISOString()).toBe(leaseExpiresAt);
  });

  it("gives as many as asked for, however they were enqueued, also behind leased and settled ones", async () => {
    const queue = await newQueue(c);
    for (const body of numbered(70)) await enqueueBodies(c, queue, [body]);
    const first = await take(c, queue, 30, 300);
    await acceptAll(
      c,
      first.filter((_, i) => i % 2 === 0),
    );
    expect(bodies(await take(c, queue, 35))).toEqual(numbered(70).slice(30, 65));
    expect(bodies(await take(c, queue, 500)), "fewer only because there are no more").toEqual(numbered(70).slice(65));
  });

  it("gives nothing of what is leased, and browse shows it no more", async () => {
    const queue = await newQueue(c, ["a", "b"]);
    await take(c, queue);
    expect(await bodiesOf(c, queue)).toEqual(["b"]);
    expect(await countsOf(c, queue)).toEqual({ available: 1, leased: 1, held: 0 });
  });

  it("of a queue that is not there is 404", async () => {
    expectRefused(await c.acquire("no-such-queue"), "not-found");
    expectRefused(await c.acquire("no-such-queue", { waitSeconds: 20 }), "not-found");
  });
});

describe.concurrent("leases", () => {
  it("last as long as the call says, else the queue, else 30 s", async () => {
    const standard = await newQueue(c, ["a"]);
    const own = await newQueue(c, ["a", "b"], { leaseSeconds: 600 });
    const lefts = [
      secondsLeft((await take(c, standard))[0]),
      secondsLeft((await take(c, own))[0]),
      secondsLeft((await take(c, own, 1, 43_200))[0]),
    ];
    for (const [i, wanted] of [30, 600, 43_200].entries()) {
      expect(lefts[i]).toBeGreaterThan(wanted - 10);
      expect(lefts[i]).toBeLessThanOrEqual(wanted + 1);
    }
  });

  it("that are over give the message back to its place, redelivered and counted", async () => {
    const queue = await newQueue(c, ["a", "b", "c"], { leaseSeconds: 1 });
    const first = await take(c, queue, 2);
    await wait(1100);
    expect(await countsOf(c, queue)).toEqual({ available: 3, leased: 0, held: 0 });
    expect(await bodiesOf(c, queue)).toEqual(["a", "b", "c"]);
    const second = await take(c, queue, 3, 1);
    expect(second.map(({ body, redelivered, deliveryCount }) => [body, redelivered, deliveryCount])).toEqual([
      ["a", true, 2],
      ["b", true, 2],
      ["c", false, 1],
    ]);
    expect(second.slice(0, 2).map((d) => d.sequence)).toEqual(first.map((d) => d.sequence));
    expect(new Set(idsOf([...first, ...second])).size).toBe(5);
    await wait(1100);
    expect((await take(c, queue, 3)).map((delivery) => delivery.deliveryCount)).toEqual([3, 3, 2]);
  });

  it("of some messages of a call end while others were settled", async () => {
    const queue = await newQueue(c, numbered(10));
    const deliveries = await take(c, queue, 10, 1);
    await c.accept(idsOf(deliveries.filter((_, i) => i % 3 !== 0)));
    await wait(1100);
    expect(bodies(await take(c, queue, 10))).toEqual(["m-0", "m-3", "m-6", "m-9"]);
  });
});

describe.concurrent("a waiting acquire", () => {
  it("answers at once when something is there", async () => {
    const queue = await newQueue(c, ["a"]);
    const startedAt = Date.now();
    expect(bodies(expectOk(await c.acquire(queue, { waitSeconds: 20 })).deliveries)).toEqual(["a"]);
    expect(Date.now() - startedAt).toBeLessThan(5000);
  });

  it("answers nothing when the time is over, and not before", async () => {
    const queue = await newQueue(c);
    const startedAt = Date.now();
    expect(expectOk(await c.acquire(queue, { waitSeconds: 2 })).deliveries).toEqual([]);
    const tookMs = Date.now() - startedAt;
    expect(tookMs).toBeGreaterThanOrEqual(1950);
    expect(tookMs).toBeLessThan(7000);
  });

  it.each(["an enqueue", "a release", "a lease that ends", "a delay that ends", "a commit", "a rollback"])(
    "is woken by %s",
    async (event) => {
      const s = await newSession(c);
      const queue = await newQueue(c, event === "an enqueue" || event === "a commit" ? [] : ["a"]);
      const happen = await prepared(event, s, queue);
      const startedAt = Date.now();
      const waiting = c.acquire(queue, { waitSeconds: 20 });
      await wait(400);
      await happen();
      expect(bodies(expectOk(await waiting).deliveries)).toEqual(["a"]);
      expect(Date.now() - startedAt).toBeLessThan(10_000);
    },
  );

  it("takes what comes for one caller only, with many waiting", async () => {
    const queue = await newQueue(c);
    const waiting = Array.from({ length: 8 }, () => c.acquire(queue, { waitSeconds: 10 }));
    await wait(300);
    await enqueueBodies(c, queue, numbered(8));
    const delivered = (await Promise.all(waiting)).map((answer) => bodies(expectOk(answer).deliveries));
    expect(delivered.flat().sort()).toEqual(numbered(8));
    expect(delivered.every((own) => own.length === 1)).toBe(true);
  });
});

/** Makes the queue empty for the moment; what it answers brings "a" back. */
async function prepared(event: string, s: typeof c, queue: string): Promise<() => Promise<unknown>> {
  const xid = newXid();
  switch (event) {
    case "an enqueue":
      return () => enqueueBodies(c, queue, ["a"]);
    case "a release": {
      const ids = idsOf(await take(c, queue));
      return () => c.release(ids);
    }
    case "a lease that ends":
      await take(c, queue, 1, 2);
      return () => Promise.resolve();
    case "a delay that ends":
      await c.release(idsOf(await take(c, queue)), { delaySeconds: 2 });
      return () => Promise.resolve();
    case "a commit":
      await enqueueBodies(await begin(s, xid), queue, ["a"]);
      await endAndPrepare(s, xid);
      return async () => expectXa(await s.commit(xid), "XA_OK");
    default:
      await acceptAll(await begin(s, xid), await take(s, queue));
      await endAndPrepare(s, xid);
      return async () => expectXa(await s.rollback(xid), "XA_OK");
  }
}

describe("settle none", () => {
  it("removes on delivery: nothing is leased, and nothing comes back, also after a restart", async () => {
    const queue = await newQueue(c, ["a", "b", "c", "d"]);
    const { deliveries } = expectOk(await c.acquire(queue, { maxMessages: 2, settle: "none" }));
    expect(deliveries).toMatchObject([
      { body: "a", redelivered: false, deliveryCount: 1 },
      { body: "b", redelivered: false, deliveryCount: 1 },
    ]);
    expect(await c.stats(queue)).toMatchObject({ available: "2", leased: "0", settled: "2", enqueued: "4" });
    await service.restart();
    expect(bodies(await drain(c, queue))).toEqual(["c", "d"]);
    expect(await drain(c, queue)).toEqual([]);
  });

  it("is refused in a branch, and takes nothing", async () => {
    const s = await newSession(c);
    const queue = await newQueue(c, ["a"]);
    const branch = await begin(s, newXid());
    expectRefused(await branch.acquire(queue, { settle: "none" }), "command-invalid");
    expect(await countsOf(c, queue)).toEqual({ available: 1, leased: 0, held: 0 });
  });

  it("explicit is what happens when nothing is said", async () => {
    const queue = await newQueue(c, ["a"]);
    const { deliveries } = expectOk(await c.acquire(queue, { settle: "explicit" }));
    await acceptAll(c, deliveries);
  });
});
