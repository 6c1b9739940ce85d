import { describe, expect, it } from "vitest";
import type { Client } from "../support/client.ts";
import { newFanout } from "../support/exchanges.ts";
import { useInProcessService } from "../support/in-process.ts";
import {
  begin,
  bodiesOf,
  enqueueBodies,
  expectOk,
  expectRefused,
  expectXa,
  newQueue,
  newSession,
} from "../support/moves.ts";
import { newXid } from "../support/names.ts";

const service = useInProcessService();

const client = async (): Promise<Client> => (await service.process("one")).client;

const countersOf = async (c: Client, queue: string) => {
  const { enqueued, settled, changeCounter } = await c.stats(queue);
  return { enqueued, settled, changeCounter };
};

const limits = [{ maxMessages: 2 }, { maxBytes: 2 }] as const;

describe("a process that keeps old settings of a queue", () => {
  it("does not refuse by them what another process has deleted, or declared with other limits", async () => {
    const [c, other] = [await client(), (await service.process("two")).client];
    const queue = await newQueue(c, ["a"], { maxMessages: 1 });
    expectOk(await other.deleteQueue(queue), 204);
    expectRefused(await c.enqueue(queue, [{ body: "b" }, { body: "c" }]), "not-found");
    expectOk(await c.declare(queue, { maxMessages: 1 }), 201);
    await enqueueBodies(c, queue, ["a"]);
    expectOk(await other.deleteQueue(queue), 204);
    expectOk(await other.declare(queue, { maxMessages: 2 }), 201);
    await enqueueBodies(c, queue, ["b", "c"]);
    expect(await bodiesOf(c, queue)).toEqual(["b", "c"]);
  });
});

describe("what is refused without a race is not counted", () => {
  it.each(limits)("an enqueue on a full queue (%o)", async (limit) => {
    const c = await client();
    const queue = await newQueue(c, ["a", "b"], limit);
    const before = await countersOf(c, queue);
    expectRefused(await c.enqueue(queue, [{ body: "c" }]), "resource-limit-exceeded");
    expectRefused(await c.enqueue(queue, [{ body: "c", deduplicationId: "c" }]), "resource-limit-exceeded");
    expect(await countersOf(c, queue)).toEqual(before);
  });

  it("an enqueue of more than a ring queue ever holds", async () => {
    const c = await client();
    const queue = await newQueue(c, ["a"], { maxMessages: 2, overflow: "ring" });
    const before = await countersOf(c, queue);
    expectRefused(await c.enqueue(queue, [{ body: "1" }, { body: "2" }, { body: "3" }]), "resource-limit-exceeded");
    expect(await countersOf(c, queue)).toEqual(before);
  });

  it("a publish to a full ring and to a full queue, whichever is asked first; and the ring drops nothing", async () => {
    const c = await client();
    const { exchange, queues } = await newFanout(c, 1, { maxMessages: 1, overflow: "ring" });
    const [ring = ""] = queues;
    const full = [await newQueue(c, ["a"], { maxMessages: 1 }), await newQueue(c, ["a"], { maxMessages: 1 })];
    for (const queue of full) expectOk(await c.bind(exchange, { queue }), 201);
    await enqueueBodies(c, ring, ["kept"]);
    const before = await countersOf(c, ring);
    expectRefused(await c.publish(exchange, [{ body: "b" }]), "resource-limit-exceeded");
    expect(await countersOf(c, ring)).toEqual(before);
    expect(await bodiesOf(c, ring)).toEqual(["kept"]);
  });

  it.each([{}, { maxMessages: 1 }])(
    "messages whose deduplication id is known, alone or among others (%o)",
    async (limit) => {
      const c = await client();
      const queue = await newQueue(c, [], limit);
      const first = { body: "first", deduplicationId: "1" };
      expectOk(await c.enqueue(queue, [first]), 201);
      const before = await countersOf(c, queue);
      const again = expectOk(await c.enqueue(queue, [first, first]), 201);
      expect(again.messages).toMatchObject([{ duplicate: true }, { duplicate: true }]);
      expect(await countersOf(c, queue)).toEqual(before);
    },
  );

  it("but what is new beside a duplicate", async () => {
    const c = await client();
    const queue = await newQueue(c);
    const first = { body: "first", deduplicationId: "1" };
    expectOk(await c.enqueue(queue, [first]), 201);
    const mixed = expectOk(await c.enqueue(queue, [first, { body: "second", deduplicationId: "2" }]), 201);
    expect(mixed.messages).toMatchObject([{ duplicate: true }, { duplicate: false }]);
    expect(await countersOf(c, queue)).toEqual({ enqueued: "2", settled: "0", changeCounter: "2" });
  });

  it.each([1, 120])(
    "a one-phase commit that meets a full queue, its other queues included (%d messages)",
    async (many) => {
      const c = await client();
      const [full, open] = [await newQueue(c, ["a", "b"], { maxMessages: 2 }), await newQueue(c)];
      const before = [await countersOf(c, full), await countersOf(c, open)];
      const s = await newSession(c);
      const xid = newXid();
      const b = await begin(s, xid);
      // Past 98 records the decision comes first.
      const messages = Array.from({ length: many }, (_, i) => ({ body: `${i}`, deduplicationId: `${i}` }));
      for (let start = 0; start < many; start += 60)
        expectOk(await b.enqueue(open, messages.slice(start, start + 60)), 201);
      await enqueueBodies(b, full, ["c"]);
      expectXa(await s.end(xid), "XA_OK");
      expectXa(await s.commit(xid, { onePhase: true }), "XA_RBROLLBACK");
      expect([await countersOf(c, full), await countersOf(c, open)]).toEqual(before);
    },
  );

  it("a one-phase commit whose copy became a duplicate needs no room", async () => {
    const c = await client();
    const queue = await newQueue(c, [], { maxMessages: 1 });
    const s = await newSession(c);
    const xid = newXid();
    const message = { body: "once", deduplicationId: "1" };
    expectOk(await (await begin(s, xid)).enqueue(queue, [message]), 201);
    expectOk(await c.enqueue(queue, [message]), 201);
    expectXa(await s.end(xid), "XA_OK");
    expectXa(await s.commit(xid, { onePhase: true }), "XA_OK");
    expect(await c.stats(queue)).toMatchObject({ available: "1" });
  });
});
