import { describe, expect, it } from "vitest";
import {
  acceptAll,
  begin,
  bodiesOf,
  consume,
  countsOf,
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
import type { Delivery, MessageInput, QueueSettings } from "../support/shapes.ts";

const service = useService();
const c = service.client;

const numbered = (count: number): string[] => Array.from({ length: count }, (_, i) => `m-${i}`);

const messages = (...bodies: string[]): MessageInput[] => bodies.map((body) => ({ body }));

/** The queue takes none of these, and nothing on it changes. */
async function expectFull(queue: string, ...bodies: string[]): Promise<void> {
  const before = [await bodiesOf(c, queue), await countsOf(c, queue)];
  expectRefused(await c.enqueue(queue, messages(...bodies)), "resource-limit-exceeded");
  expect([await bodiesOf(c, queue), await countsOf(c, queue)]).toEqual(before);
}

describe("a queue that rejects", () => {
  it("takes maxMessages and not one more; a call goes in whole or not at all", async () => {
    const queue = await newQueue(c, numbered(7), { maxMessages: 10 });
    await expectFull(queue, "a", "b", "c", "d");
    await enqueueBodies(c, queue, ["a", "b"]);
    await expectFull(queue, "c", "d");
    await enqueueBodies(c, queue, ["c"]);
    await expectFull(queue, "d");
    expect(await bodiesOf(c, queue)).toEqual([...numbered(7), "a", "b", "c"]);
  });

  it("takes maxBytes of bodies and not one more; empty bodies always fit", async () => {
    const queue = await newQueue(c, ["x".repeat(90)], { maxBytes: 100 });
    await expectFull(queue, "y".repeat(11));
    await enqueueBodies(c, queue, ["y".repeat(4), "é".repeat(3)]);
    await expectFull(queue, "z");
    await enqueueBodies(c, queue, ["", ""]);
    expect(await countsOf(c, queue)).toMatchObject({ available: 5 });
  });

  it("with both limits, whichever comes first", async () => {
    const queue = await newQueue(c, ["12345"], { maxBytes: 10, maxMessages: 3 });
    await expectFull(queue, "123456");
    await enqueueBodies(c, queue, ["", "1"]);
    await expectFull(queue, "");
  });

  it("refuses a call larger than the queue", async () => {
    const queue = await newQueue(c, [], { maxMessages: 2, maxBytes: 1000 });
    await expectFull(queue, "a", "b", "c");
    await expectFull(queue, "x".repeat(1001));
  });

  it("counts what is leased, delayed and held: only what leaves makes room", async () => {
    const s = await newSession(c);
    const queue = await newQueue(c, numbered(3), { maxMessages: 3, leaseSeconds: 600 });
    const [a, b, d] = (await take(c, queue, 3)) as [Delivery, Delivery, Delivery];
    await c.release([a.deliveryId], { delaySeconds: 600 });
    const xid = newXid();
    await acceptAll(await begin(s, xid), [b]);
    await expectFull(queue, "new");
    await endAndPrepare(s, xid);
    await expectFull(queue, "new");
    await c.release([d.deliveryId]);
    await expectFull(queue, "new");
    expectXa(await s.commit(xid), "XA_OK");
    await enqueueBodies(c, queue, ["new"]);
    await expectFull(queue, "newer");
  });

  it.each<[string, QueueSettings, number | undefined, (queue: string) => Promise<unknown>]>([
    ["an accept", {}, undefined, async (queue) => consume(c, queue, 2)],
    ["a reject", {}, undefined, async (queue) => c.reject(idsOf(await take(c, queue, 2)))],
    ["settle none", {}, undefined, (queue) => c.acquire(queue, { maxMessages: 2, settle: "none" })],
    ["a purge", {}, undefined, (queue) => c.purge(queue)],
    ["the last delivery", { maxDeliveries: 1 }, undefined, async (queue) => c.release(idsOf(await take(c, queue, 2)))],
    ["the last lease", { maxDeliveries: 1 }, undefined, async (queue) => (await take(c, queue, 2, 1)) && wait(1100)],
    ["the queue's time to live", { messageTtlSeconds: 1 }, undefined, () => wait(1100)],
    ["their own time to live", {}, 1, () => wait(1100)],
    ["retention", { retentionSeconds: 1 }, undefined, () => wait(1100)],
  ])("has room again after %s", async (_name, settings, ttlSeconds, leave) => {
    const queue = await newQueue(c, [], { maxMessages: 2, maxBytes: 20, ...settings });
    const own = ttlSeconds === undefined ? {} : { ttlSeconds };
    expectOk(
      await c.enqueue(
        queue,
        ["a", "b"].map((letter) => ({ body: letter.repeat(10), ...own })),
      ),
      201,
    );
    if (ttlSeconds === undefined && Object.keys(settings).length === 0) await expectFull(queue, "x");
    await leave(queue);
    await enqueueBodies(c, queue, ["c".repeat(10), "d".repeat(10)]);
    await expectFull(queue, "x");
  });

  it("20 at once for 10 places: ten are taken, ten are told", async () => {
    const queue = await newQueue(c, [], { maxMessages: 10 });
    const answers = await Promise.all(numbered(20).map((body) => c.enqueue(queue, messages(body))));
    const refused = answers.filter((answer) => answer.problem !== undefined);
    for (const answer of refused) expectRefused(answer, "resource-limit-exceeded");
    expect(refused).toHaveLength(10);
    const taken = numbered(20).filter((_, i) => answers[i]?.status === 201);
    expect((await bodiesOf(c, queue)).toSorted()).toEqual(taken.toSorted());
  });

  it("stays exact over a restart", async () => {
    const queue = await newQueue(c, numbered(3), { maxMessages: 4 });
    await consume(c, queue);
    await service.restart();
    await enqueueBodies(c, queue, ["a", "b"]);
    await expectFull(queue, "c");
  });

  it("a refused call may be repeated when there is room", async () => {
    const queue = await newQueue(c, ["a"], { maxMessages: 1 });
    expect((await c.enqueue(queue, messages("b"))).problem).toMatchObject({ retryable: false });
    await consume(c, queue);
    await enqueueBodies(c, queue, ["b"]);
  });
});

describe("a branch and a full queue", () => {
  it("publishing is not refused, preparing is: RBROLLBACK, nothing applied", async () => {
    const s = await newSession(c);
    const queue = await newQueue(c, numbered(2), { maxMessages: 3 });
    const other = await newQueue(c);
    const xid = newXid();
    const branch = await begin(s, xid);
    await enqueueBodies(branch, other, ["elsewhere"]);
    await enqueueBodies(branch, queue, ["a", "b"]);
    expectXa(await s.end(xid), "XA_OK");
    expectXa(await s.prepare(xid), "XA_RBROLLBACK");
    expectXa(await s.rollback(xid), "XA_OK");
    expect(await bodiesOf(c, queue)).toEqual(numbered(2));
    expect(await bodiesOf(c, other)).toEqual([]);
    await enqueueBodies(c, queue, ["c"]);
  });

  it.each<[string, QueueSettings, object]>([
    ["the queue's time to live", { messageTtlSeconds: 1 }, {}],
    ["their own time to live", {}, { ttlSeconds: 1 }],
  ])("has room for a branch after %s", async (_name, settings, own) => {
    const s = await newSession(c);
    const queue = await newQueue(c, [], { maxMessages: 2, ...settings });
    const [twoPhase, onePhase] = [newXid(), newXid()];
    for (const [xid, body] of [
      [twoPhase, "a"],
      [onePhase, "b"],
    ] as const) {
      await enqueueBodies(await begin(s, xid), queue, [body]);
      expectOk(await c.enqueue(queue, [{ body: "over soon", ...own }]), 201);
      expectXa(await s.end(xid), "XA_OK");
    }
    await wait(1100);
    expectXa(await s.prepare(twoPhase), "XA_OK");
    expectXa(await s.commit(onePhase, { onePhase: true }), "XA_OK");
    expectXa(await s.commit(twoPhase), "XA_OK");
    expect(await bodiesOf(c, queue)).toEqual(["b", "a"]);
    await expectFull(queue, "x");
  });

  it("prepare reserves, rollback gives back, commit keeps", async () => {
    const s = await newSession(c);
    const queue = await newQueue(c, [], { maxMessages: 3, maxBytes: 300 });
    const [x1, x2] = [newXid(), newXid()];
    await enqueueBodies(await begin(s, x1), queue, ["a", "b"]);
    await enqueueBodies(c, queue, ["first"]);
    await endAndPrepare(s, x1);
    await expectFull(queue, "x");
    await service.restart();
    await expectFull(queue, "x");
    expectXa(await s.rollback(x1), "XA_OK");
    await enqueueBodies(await begin(s, x2), queue, ["c"]);
    await endAndPrepare(s, x2);
    await enqueueBodies(c, queue, ["second"]);
    await expectFull(queue, "x");
    expectXa(await s.commit(x2), "XA_OK");
    expect(await bodiesOf(c, queue)).toEqual(["first", "second", "c"]);
    await expectFull(queue, "x");
  });

  it("a branch that takes and puts on the same full queue needs the room of what it takes only after commit", async () => {
    const s = await newSession(c);
    const queue = await newQueue(c, ["a"], { maxMessages: 1 });
    const xid = newXid();
    const branch = await begin(s, xid);
    await consume(branch, queue);
    await enqueueBodies(branch, queue, ["b"]);
    expectXa(await s.end(xid), "XA_OK");
    expectXa(await s.prepare(xid), "XA_RBROLLBACK");
    expectXa(await s.rollback(xid), "XA_OK");
    expect(await bodiesOf(c, queue)).toEqual(["a"]);
    await expectFull(queue, "x");
  });
});
