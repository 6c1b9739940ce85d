import { describe, expect, it } from "vitest";
import {
  acceptAll,
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
  expectRefused,
  expectXa,
  newQueue,
  newSession,
  take,
} from "../support/moves.ts";
import { newXid } from "../support/names.ts";
import { expectOutcomes, idsOf } from "../support/outcomes.ts";
import { useService } from "../support/service.ts";
import type { Delivery } from "../support/shapes.ts";

const service = useService();
const c = service.client;

const numbered = (count: number): string[] => Array.from({ length: count }, (_, i) => `m-${i}`);

describe("purge", () => {
  it("takes the available messages that stand there; leased, delayed and held ones stay", async () => {
    const s = await newSession(c);
    const queue = await newQueue(c, numbered(320), { leaseSeconds: 600 });
    const [a, b, d] = (await take(c, queue, 3)) as [Delivery, Delivery, Delivery];
    await c.release([b.deliveryId], { delaySeconds: 600 });
    const xid = newXid();
    await acceptAll(await begin(s, xid), [d]);
    expect(expectOk(await c.purge(queue))).toEqual({ purged: 317, more: false });
    expect(await countsOf(c, queue)).toEqual({ available: 0, leased: 2, held: 1 });
    expect(await c.stats(queue)).toMatchObject({ enqueued: "320", settled: "317", deadLettered: "0" });
    expectOutcomes(await c.release([a.deliveryId]), [a.deliveryId], ["released"]);
    expectXa(await s.end(xid), "XA_OK");
    expectXa(await s.rollback(xid), "XA_OK");
    expect(await bodiesOf(c, queue)).toEqual(["m-0", "m-2"]);
  });

  it("of an empty queue takes nothing, and again nothing", async () => {
    const queue = await newQueue(c, numbered(3));
    expect(expectOk(await c.purge(queue)).purged).toBe(3);
    expect(expectOk(await c.purge(queue))).toEqual({ purged: 0, more: false });
    await enqueueBodies(c, queue, ["new"]);
    await service.restart();
    expect(await bodiesOf(c, queue)).toEqual(["new"]);
  });

  it("sends nothing to the dead-letter queue, and touches no other queue", async () => {
    const letters = await newQueue(c, ["letter"]);
    const queue = await newQueue(c, numbered(5), { deadLetterQueue: letters });
    expect(expectOk(await c.purge(queue)).purged).toBe(5);
    expect(await bodiesOf(c, letters)).toEqual(["letter"]);
  });

  it("leaves a branch's work alone, prepared or not", async () => {
    const s = await newSession(c);
    const queue = await newQueue(c, ["a", "b"]);
    const [x1, x2] = [newXid(), newXid()];
    const branch = await begin(s, x1);
    await consume(branch, queue);
    await enqueueBodies(branch, queue, ["x1"]);
    await endAndPrepare(s, x1);
    await enqueueBodies(await begin(s, x2), queue, ["x2"]);
    expect(expectOk(await c.purge(queue)).purged).toBe(1);
    expectXa(await s.rollback(x1), "XA_OK");
    expectXa(await s.end(x2), "XA_OK");
    expectXa(await s.commit(x2, { onePhase: true }), "XA_OK");
    expect(await bodiesOf(c, queue)).toEqual(["a", "x2"]);
  });

  it("by two at once purges each message once", async () => {
    const queue = await newQueue(c, numbered(400));
    const both = await Promise.all([c.purge(queue), c.purge(queue)]);
    expect(both.reduce((sum, answer) => sum + expectOk(answer).purged, 0)).toBe(400);
    expect(await c.stats(queue)).toMatchObject({ available: "0" });
  });
});

describe("delete", () => {
  it("ends the queue: every call is 404, over a restart too", async () => {
    const queue = await newQueue(c, numbered(3));
    expectOk(await c.deleteQueue(queue), 204);
    for (const look of [1, 2]) {
      for (const answer of [
        await c.deleteQueue(queue),
        await c.getQueue(queue),
        await c.browse(queue),
        await c.acquire(queue),
        await c.enqueue(queue, [{ body: "x" }]),
        await c.purge(queue),
      ]) {
        expectRefused(answer, "not-found");
      }
      if (look === 1) await service.restart();
    }
  });

  it("declared again it is a new queue that shares nothing with the old one", async () => {
    const queue = await newQueue(c, numbered(30), { leaseSeconds: 600 });
    const old = idsOf(await take(c, queue, 10));
    expectOk(await c.deleteQueue(queue), 204);
    expectOk(await c.declare(queue, { leaseSeconds: 77, maxDeliveries: 2 }), 201);
    expect(await c.stats(queue)).toMatchObject({ available: "0", leased: "0", enqueued: "0", settled: "0" });
    await enqueueBodies(c, queue, ["new"]);
    for (const answer of [await c.accept(old), await c.reject(old), await c.release(old), await c.extend(old, 60)]) {
      expectOutcomes(
        answer,
        old,
        old.map(() => "not-found"),
      );
    }
    expect((await drain(c, queue)).map((delivery) => delivery.body)).toEqual(["new"]);
  });

  it("many times over, and at once with enqueues: nothing old is ever seen in a new one", async () => {
    const queue = await newQueue(c);
    for (let life = 0; life < 5; life += 1) {
      const enqueues = numbered(5).map((body) => c.enqueue(queue, [{ body: `${life}-${body}` }]));
      const deleted = await c.deleteQueue(queue);
      expectOk(deleted, 204);
      for (const answer of await Promise.all(enqueues)) expect([201, 404]).toContain(answer.status);
      expectOk(await c.declare(queue), 201);
      expect(await bodiesOf(c, queue)).toEqual([]);
    }
  });

  it("by many at once succeeds once", async () => {
    const queue = await newQueue(c, ["a"]);
    const answers = await Promise.all(Array.from({ length: 6 }, () => c.deleteQueue(queue)));
    expect(answers.map((answer) => answer.status).sort()).toEqual([204, 404, 404, 404, 404, 404]);
  });

  it("sends what stands there to the dead-letter queue, in order, the leased too", async () => {
    const letters = await newQueue(c);
    const queue = await newQueue(c, numbered(230), { deadLetterQueue: letters, leaseSeconds: 600 });
    const ids = idsOf(await take(c, queue, 3));
    await consume(c, queue);
    await c.release(ids.slice(1, 2), { delaySeconds: 600 });
    expectOk(await c.deleteQueue(queue), 204);
    const moved = await browseAll(c, letters);
    expect(moved.map((message) => message.body)).toEqual(numbered(230).filter((body) => body !== "m-3"));
    expect(moved[0]).toMatchObject({ deadLetter: { queue } });
    expectOutcomes(await c.accept(ids), ids, ["not-found", "not-found", "not-found"]);
    expect(await availableOn(c, letters)).toEqual([229]);
  });

  it("leaves what a branch holds to the branch: a rollback sends it after the others, a commit ends it", async () => {
    const s = await newSession(c);
    const letters = await newQueue(c);
    const queue = await newQueue(c, ["a", "b", "c"], { deadLetterQueue: letters });
    const [x1, x2] = [newXid(), newXid()];
    await consume(await begin(s, x1), queue);
    await endAndPrepare(s, x1);
    await consume(await begin(s, x2), queue);
    await endAndPrepare(s, x2);
    expectOk(await c.deleteQueue(queue), 204);
    expect(await bodiesOf(c, letters)).toEqual(["c"]);
    expectXa(await s.commit(x1), "XA_OK");
    expectXa(await s.rollback(x2), "XA_OK");
    expect(await bodiesOf(c, letters)).toEqual(["c", "b"]);
  });

  it("a publish whose queue is gone at commit goes to its dead-letter queue, or is dropped", async () => {
    const s = await newSession(c);
    const letters = await newQueue(c);
    const [withLetters, without, kept] = [
      await newQueue(c, [], { deadLetterQueue: letters }),
      await newQueue(c),
      await newQueue(c),
    ];
    const xid = newXid();
    const branch = await begin(s, xid);
    for (const queue of [withLetters, without, kept]) await enqueueBodies(branch, queue, [`to ${queue}`]);
    await endAndPrepare(s, xid);
    expectOk(await c.deleteQueue(withLetters), 204);
    expectOk(await c.deleteQueue(without), 204);
    expectOk(await c.declare(without), 201);
    expectXa(await s.commit(xid), "XA_OK");
    expect(await bodiesOf(c, letters)).toEqual([`to ${withLetters}`]);
    expect(await bodiesOf(c, kept)).toEqual([`to ${kept}`]);
    expect(await bodiesOf(c, without), "the new queue is another one").toEqual([]);
  });
});

describe("ifEmpty and ifUnused", () => {
  it("ifEmpty refuses while anything stands there, in whatever state", async () => {
    const s = await newSession(c);
    const queue = await newQueue(c, ["a"], { leaseSeconds: 600 });
    const refuses = async () => expectRefused(await c.deleteQueue(queue, { ifEmpty: true }), "precondition-failed");
    await refuses();
    let deliveries = await take(c, queue);
    await refuses();
    await c.release(idsOf(deliveries));
    deliveries = await take(c, queue);
    const xid = newXid();
    await acceptAll(await begin(s, xid), deliveries);
    await refuses();
    await endAndPrepare(s, xid);
    await refuses();
    expectXa(await s.commit(xid), "XA_OK");
    expectOk(await c.deleteQueue(queue, { ifEmpty: true }), 204);
    expectRefused(await c.getQueue(queue), "not-found");
  });

  it("ifUnused refuses while anything is leased or held, and minds no available message", async () => {
    const s = await newSession(c);
    const queue = await newQueue(c, ["a", "b"], { leaseSeconds: 600 });
    const refuses = async () => expectRefused(await c.deleteQueue(queue, { ifUnused: true }), "precondition-failed");
    const [a] = (await take(c, queue)) as [Delivery];
    await refuses();
    const xid = newXid();
    await acceptAll(await begin(s, xid), [a]);
    await refuses();
    expectXa(await s.end(xid), "XA_OK");
    expectXa(await s.rollback(xid), "XA_OK");
    expect(await bodiesOf(c, queue)).toEqual(["a", "b"]);
    expectOk(await c.deleteQueue(queue, { ifUnused: true, ifEmpty: false }), 204);
  });

  it("both must hold when both are asked for", async () => {
    const queue = await newQueue(c, ["a"]);
    const answer = await c.deleteQueue(queue, { ifUnused: true, ifEmpty: true });
    expectRefused(answer, "precondition-failed");
    await consume(c, queue);
    expectOk(await c.deleteQueue(queue, { ifUnused: true, ifEmpty: true }), 204);
  });

  it("an unused, empty queue may be deleted by either", async () => {
    expectOk(await c.deleteQueue(await newQueue(c), { ifEmpty: true }), 204);
    expectOk(await c.deleteQueue(await newQueue(c), { ifUnused: true }), 204);
    expectOk(await c.deleteQueue(await newQueue(c), { ifEmpty: false, ifUnused: false }), 204);
  });
});
