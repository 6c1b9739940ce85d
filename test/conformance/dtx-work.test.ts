import { describe, expect, it } from "vitest";
import type { Client } from "../support/client.ts";
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
import { wait } from "../support/poll.ts";
import { useService } from "../support/service.ts";
import type { QueueSettings } from "../support/shapes.ts";

const service = useService();

const finishes = ["commit", "rollback"] as const;

/** A prepared branch that has taken the first message of the queue and published these bodies to it. */
async function preparedOn(
  queue: string,
  taken: number,
  published: readonly string[],
): Promise<{ c: Client; xid: string }> {
  const s = await newSession(service.client);
  const xid = newXid();
  const inBranch = await begin(s, xid);
  if (taken > 0) await consume(inBranch, queue, taken);
  await enqueueBodies(inBranch, queue, published);
  await endAndPrepare(s, xid);
  return { c: service.client, xid };
}

const declared = (bodies: readonly string[], settings: QueueSettings = {}) =>
  newQueue(service.client, bodies, settings);

describe("associations", () => {
  it("one's own suspended association is resumed while another session is active", async () => {
    const [s1, s2] = [await newSession(service.client), await newSession(service.client)];
    const xid = newXid();
    await begin(s1, xid);
    expectXa(await s1.end(xid, { suspend: true }), "XA_OK");
    expectXa(await s2.start(xid, { join: true }), "XA_OK");
    expectXa(await s1.start(xid, { resume: true }), "XA_OK");
    for (const s of [s2, s1]) expectXa(await s.end(xid), "XA_OK");
    expectXa(await s1.rollback(xid), "XA_OK");
  });

  it("a session works in several branches at once, and without an xid each call commits by itself", async () => {
    const s = await newSession(service.client);
    const queue = await declared(["first", "second"]);
    const [x1, x2] = [newXid(), newXid()];
    const [in1, in2] = [await begin(s, x1), await begin(s, x2)];
    await enqueueBodies(in1, queue, ["of x1"]);
    await enqueueBodies(in2, queue, ["of x2"]);
    await enqueueBodies(s, queue, ["outside"]);
    await consume(in2, queue);
    await consume(s, queue);
    expect(await bodiesOf(s, queue)).toEqual(["outside"]);
    for (const xid of [x1, x2]) expectXa(await s.end(xid), "XA_OK");
    expectXa(await s.rollback(x2), "XA_OK");
    expectXa(await s.commit(x1, { onePhase: true }), "XA_OK");
    expect(await bodiesOf(s, queue)).toEqual(["first", "outside", "of x1"]);
  });
});

describe("deliveries in a branch", () => {
  it("what was taken and not accepted is no part of it", async () => {
    const s = await newSession(service.client);
    const queue = await declared(["accepted", "only leased"]);
    const xid = newXid();
    const [first, second] = await take(await begin(s, xid), queue, 2, 60);
    if (first === undefined || second === undefined) throw new Error("two messages were there");
    await acceptAll(s.within(xid), [first]);
    expectXa(await s.end(xid), "XA_OK");
    expectXa(await s.rollback(xid), "XA_OK");
    expect(await bodiesOf(s, queue)).toEqual(["accepted"]);
    await acceptAll(s, [second]);
  });

  it("one held by a branch is accepted there again, and locked for everyone else", async () => {
    const s = await newSession(service.client);
    const queue = await declared(["held"]);
    const [xid, other] = [newXid(), newXid()];
    const [delivery] = await consume(await begin(s, xid), queue);
    if (delivery === undefined) throw new Error("one message was there");
    await acceptAll(s.within(xid), [delivery, delivery]);
    const ids = [delivery.deliveryId];
    const inOther = await begin(s, other);
    for (const outcome of [await inOther.accept(ids), await s.accept(ids), await s.release(ids), await s.reject(ids)])
      expect(expectOk(outcome).outcomes).toMatchObject([{ status: "locked" }]);
    await endAndPrepare(s, xid);
    expect(expectOk(await s.accept(ids)).outcomes).toMatchObject([{ status: "locked" }]);
    expect(await countsOf(s, queue)).toEqual({ available: 0, leased: 0, held: 1 });
    expectXa(await s.commit(xid), "XA_OK");
    expect(expectOk(await s.accept(ids)).outcomes).toMatchObject([{ status: "not-found" }]);
    expectXa(await s.end(other), "XA_OK");
    expectXa(await s.commit(other, { onePhase: true }), "XA_OK");
  });

  it("one whose lease is over is lease-lost and not enlisted", async () => {
    const s = await newSession(service.client);
    const queue = await declared(["the message"]);
    const xid = newXid();
    const [delivery] = await take(await begin(s, xid), queue, 1, 1);
    await wait(1300);
    const answer = await s.within(xid).accept([delivery?.deliveryId ?? ""]);
    expect(expectOk(answer).outcomes).toMatchObject([{ status: "lease-lost" }]);
    expectXa(await s.end(xid), "XA_OK");
    expectXa(await s.commit(xid, { onePhase: true }), "XA_OK");
    expect(await bodiesOf(s, queue)).toEqual(["the message"]);
  });

  it("a rollback counts the delivery, and one that was delivered maxDeliveries times is dead-lettered", async () => {
    const s = await newSession(service.client);
    const dead = await declared([]);
    const queue = await declared(["poison"], { maxDeliveries: 2, deadLetterQueue: dead });
    for (let times = 1; times <= 2; times += 1) {
      const xid = newXid();
      expect(await consume(await begin(s, xid), queue)).toMatchObject([{ deliveryCount: times }]);
      expectXa(await s.end(xid), "XA_OK");
      expectXa(await s.rollback(xid), "XA_OK");
    }
    expect(await take(s, queue)).toEqual([]);
    expect(await bodiesOf(s, dead)).toEqual(["poison"]);
  });
});

describe("publishes in a branch", () => {
  it("stand at the tail in publish order, behind what was enqueued before the commit", async () => {
    const s = await newSession(service.client);
    const queue = await declared(["before"]);
    const xid = newXid();
    const inBranch = await begin(s, xid);
    await enqueueBodies(inBranch, queue, ["1", "2"]);
    await enqueueBodies(s, queue, ["meanwhile"]);
    await enqueueBodies(inBranch, queue, ["3"]);
    expectXa(await s.end(xid), "XA_OK");
    expectXa(await s.commit(xid, { onePhase: true }), "XA_OK");
    const messages = await browseAll(s, queue);
    expect(messages.map((message) => message.body)).toEqual(["before", "meanwhile", "1", "2", "3"]);
    const sequences = messages.map((message) => BigInt(message.sequence));
    expect(sequences.every((sequence, n) => n === 0 || sequence > (sequences[n - 1] ?? 0n))).toBe(true);
  });

  it("reserve their room at prepare, which a rollback gives back", async () => {
    const queue = await declared(["one"], { maxMessages: 2, overflow: "reject" });
    const { c, xid } = await preparedOn(queue, 0, ["reserved"]);
    expectRefused(await c.enqueue(queue, [{ body: "no room" }]), "resource-limit-exceeded");
    expectXa(await c.rollback(xid), "XA_OK");
    await enqueueBodies(c, queue, ["two"]);
    expect(await bodiesOf(c, queue)).toEqual(["one", "two"]);
  });

  it.each(finishes)("a prepared dequeue uses its room until the %s", async (finish) => {
    const queue = await declared(["one"], { maxMessages: 1, overflow: "reject" });
    const { c, xid } = await preparedOn(queue, 1, []);
    expectRefused(await c.enqueue(queue, [{ body: "no room" }]), "resource-limit-exceeded");
    expectXa(await c[finish](xid), "XA_OK");
    const after = await c.enqueue(queue, [{ body: "two" }]);
    if (finish === "commit") expectOk(after, 201);
    else expectRefused(after, "resource-limit-exceeded");
    expect(await bodiesOf(c, queue)).toEqual(finish === "commit" ? ["two"] : ["one"]);
  });
});

describe.each(finishes)("what happens to a queue leaves a prepared branch alone, and its %s applies it", (finish) => {
  it("purge", async () => {
    const queue = await declared(["held", "purged"]);
    const { c, xid } = await preparedOn(queue, 1, ["published"]);
    expect(expectOk(await c.purge(queue))).toEqual({ purged: 1, more: false });
    expect(await countsOf(c, queue)).toEqual({ available: 0, leased: 0, held: 1 });
    expectXa(await c[finish](xid), "XA_OK");
    expect(await bodiesOf(c, queue)).toEqual(finish === "commit" ? ["published"] : ["held"]);
  });

  it("ring eviction", async () => {
    const queue = await declared(["held", "oldest available"], { maxMessages: 2, overflow: "ring" });
    const { c, xid } = await preparedOn(queue, 1, []);
    await enqueueBodies(c, queue, ["newest"]);
    expect(await bodiesOf(c, queue)).toEqual(["newest"]);
    expectXa(await c[finish](xid), "XA_OK");
    expect(await bodiesOf(c, queue)).toEqual(finish === "commit" ? ["newest"] : ["held", "newest"]);
  });

  it("time to live", async () => {
    const dead = await declared([]);
    const queue = await declared([], { deadLetterQueue: dead });
    expectOk(await service.client.enqueue(queue, [{ body: "held", ttlSeconds: 1 }]), 201);
    const { c, xid } = await preparedOn(queue, 1, ["published"]);
    await wait(1300);
    expectOk(await c.recovery());
    expect([await countsOf(c, queue), await bodiesOf(c, dead)]).toEqual([{ available: 0, leased: 0, held: 1 }, []]);
    expectXa(await c[finish](xid), "XA_OK");
    expect((await drain(c, queue)).map((delivery) => delivery.body)).toEqual(finish === "commit" ? ["published"] : []);
    expect(await bodiesOf(c, dead)).toEqual(finish === "commit" ? [] : ["held"]);
  });

  it("deletion, with a dead-letter queue", async () => {
    const dead = await declared([]);
    const queue = await declared(["held", "available"], { deadLetterQueue: dead });
    const { c, xid } = await preparedOn(queue, 1, ["published"]);
    expectOk(await c.deleteQueue(queue), 204);
    expect(await bodiesOf(c, dead)).toEqual(["available"]);
    expectXa(await c[finish](xid), "XA_OK");
    const moved = finish === "commit" ? "published" : "held";
    expect(await bodiesOf(c, dead)).toEqual(["available", moved]);
    expectRefused(await c.getQueue(queue), "not-found");
  });

  it("deletion and a new declaration", async () => {
    const queue = await declared(["held"]);
    const { c, xid } = await preparedOn(queue, 1, ["published"]);
    expectOk(await c.deleteQueue(queue), 204);
    expectOk(await c.declare(queue), 201);
    await enqueueBodies(c, queue, ["new"]);
    expectXa(await c[finish](xid), "XA_OK");
    expect(await bodiesOf(c, queue)).toEqual(["new"]);
    expect(await availableOn(c, queue)).toEqual([1]);
  });
});
