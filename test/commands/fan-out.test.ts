import { describe, expect, it } from "vitest";
import { type Client, deferred } from "../support/client.ts";
import { newFanout, standingOn } from "../support/exchanges.ts";
import { useInProcessService } from "../support/in-process.ts";
import { begin, endAndPrepare, expectOk, expectRefused, expectXa, newQueue, newSession } from "../support/moves.ts";
import { newXid, unique } from "../support/names.ts";
import { twoProcesses } from "../support/processes.ts";

const service = useInProcessService();

describe("a publish to several queues", () => {
  it("is all or nothing: one full queue refuses the whole, and nothing is counted", async () => {
    const [{ client: c }] = await twoProcesses(service);
    const { exchange, queues } = await newFanout(c, 3);
    const full = await newQueue(c, ["full"], { maxMessages: 1 });
    expectOk(await c.bind(exchange, { queue: full }), 201);
    expectRefused(await c.publish(exchange, [{ body: "no" }]), "resource-limit-exceeded");
    expect(await standingOn(c, queues)).toEqual([[], [], []]);
    for (const queue of queues) expect(await c.stats(queue)).toMatchObject({ enqueued: "0", changeCounter: "0" });
  });

  it("to 90 queues is one transaction of the table, with a key and as a command too", {
    timeout: 120_000,
  }, async () => {
    const [one, two] = await twoProcesses(service);
    const c = one.client;
    const { exchange, queues } = await newFanout(c, 90);
    const s = await newSession(c);
    const putIn: number[] = [];
    for (const process of [one, two]) {
      process.onCall = async ({ operation, input }, next) => {
        const puts = operation === "TransactWriteItems" ? (JSON.stringify(input).match(/"M#\d{20}"/g) ?? []).length : 0;
        if (puts > 0) putIn.push(puts);
        return next();
      };
    }
    expectOk(await c.publish(exchange, [{ body: "1" }], {}, { "idempotency-key": unique() }), 201);
    deferred(await s.later.publish(exchange, [{ body: "2" }]));
    await two.runWorker();
    expect(putIn).toEqual([90, 90]);
    expect(await standingOn(c, queues)).toEqual(queues.map(() => ["1", "2"]));
  });

  it("drops the oldest of each ring that is full", async () => {
    const [{ client: c }] = await twoProcesses(service);
    const { exchange, queues } = await newFanout(c, 3, { maxMessages: 2, overflow: "ring" });
    for (const body of ["1", "2", "3"]) expectOk(await c.publish(exchange, [{ body }]), 201);
    expect(await standingOn(c, queues)).toEqual([
      ["2", "3"],
      ["2", "3"],
      ["2", "3"],
    ]);
  });

  it("is told again what it was told, by its Idempotency-Key, after a lost answer", async () => {
    const [one, two] = await twoProcesses(service);
    const { exchange, queues } = await newFanout(one.client, 3);
    const headers = { "idempotency-key": unique() };
    one.onCall = async ({ request, operation }, next) => {
      const answer = await next();
      if (operation === "TransactWriteItems") request.stop();
      return answer;
    };
    const call = (from: Client) => from.publish(exchange, [{ body: "once" }], {}, headers);
    expectRefused(await call(one.client), "unavailable");
    const told = expectOk(await call(two.client), 201);
    expect(told.messages[0]?.queues.map(({ queue }) => queue).toSorted()).toEqual(queues.toSorted());
    expect(await standingOn(two.client, queues)).toEqual([["once"], ["once"], ["once"]]);
  });

  it("is a duplicate on the queues that know its id, and new on the others", async () => {
    const [{ client: c }] = await twoProcesses(service);
    const { exchange, queues } = await newFanout(c, 2);
    const message = { body: "once", deduplicationId: "d" };
    const own = expectOk(await c.enqueue(queues[0] ?? "", [message]), 201).messages[0];
    const mixed = expectOk(await c.publish(exchange, [message]), 201).messages[0];
    expect(mixed).toMatchObject({ duplicate: false });
    expect(mixed?.queues).toContainEqual(own?.queues[0]);
    const again = expectOk(await c.publish(exchange, [message]), 201).messages[0];
    expect(again).toMatchObject({ duplicate: true });
    expect(again?.queues).toEqual(mixed?.queues);
    expect(await standingOn(c, queues)).toEqual([["once"], ["once"]]);
  });

  it("leaves out a queue that is deleted while it is put, and the others get it once", async () => {
    const [one, two] = await twoProcesses(service);
    const { exchange, queues } = await newFanout(one.client, 3);
    expectOk(await one.client.publish(exchange, [{ body: "known" }]), 201);
    let isDeleted = false;
    one.onCall = async ({ operation, input }, next) => {
      // Just before its position is taken; those of the others are taken at the same time.
      if (operation === "UpdateItem" && !isDeleted && JSON.stringify(input).includes(`${queues[0]}#`)) {
        isDeleted = true;
        expectOk(await two.client.deleteQueue(queues[0] ?? ""), 204);
      }
      return next();
    };
    const sent = expectOk(await one.client.publish(exchange, [{ body: "after" }]), 201).messages[0];
    expect(sent?.queues.map(({ queue }) => queue).toSorted()).toEqual(queues.slice(1).toSorted());
    expect(await standingOn(two.client, queues.slice(1))).toEqual([
      ["known", "after"],
      ["known", "after"],
    ]);
  });

  it("is routed by what another process bound just before", async () => {
    const [one, two] = await twoProcesses(service);
    const { exchange, queues } = await newFanout(one.client, 1);
    expectOk(await one.client.publish(exchange, [{ body: "1" }]), 201);
    const more = await newQueue(two.client);
    expectOk(await two.client.bind(exchange, { queue: more }), 201);
    expectOk(await one.client.publish(exchange, [{ body: "2" }]), 201);
    expectOk(await two.client.unbind(exchange, { queue: queues[0] ?? "" }), 204);
    expectOk(await one.client.publish(exchange, [{ body: "3" }]), 201);
    expect(await standingOn(one.client, [...queues, more])).toEqual([
      ["1", "2"],
      ["2", "3"],
    ]);
  });
});

describe("a publish, of many rings or of many words", () => {
  it("makes room on more full rings than it may begin anew", async () => {
    const [{ client: c }] = await twoProcesses(service);
    const { exchange, queues } = await newFanout(c, 31, { maxMessages: 2, overflow: "ring" });
    for (const body of ["1", "2", "3"]) expectOk(await c.publish(exchange, [{ body }]), 201);
    expect(await standingOn(c, queues)).toEqual(queues.map(() => ["2", "3"]));
    expect(await c.stats(queues[0] ?? "")).toMatchObject({ enqueued: "3", settled: "1" });
  }, 60_000);

  it("finds room anew on each ring, when others move what it would have dropped on the last one", async () => {
    const [one, two] = await twoProcesses(service);
    const { exchange, queues } = await newFanout(one.client, 2, { maxMessages: 1, overflow: "ring" });
    expectOk(await one.client.publish(exchange, [{ body: "1" }]), 201);
    let isTaken = false;
    one.onCall = async ({ operation }, next) => {
      if (operation === "TransactWriteItems" && !isTaken) {
        isTaken = true;
        for (const queue of queues) expectOk(await two.client.acquire(queue, { settle: "none" }));
      }
      return next();
    };
    expectOk(await one.client.publish(exchange, [{ body: "2" }]), 201);
    expect(await standingOn(two.client, queues)).toEqual([["2"], ["2"]]);
  });

  it("is refused when its answer would be too long, and nothing is counted", async () => {
    const [{ client: c }] = await twoProcesses(service);
    const exchange = unique("exchange");
    expectOk(await c.declareExchange(exchange, { type: "fanout" }), 201);
    const queues = Array.from({ length: 50 }, () => unique().padEnd(127, "x"));
    for (const queue of queues) {
      expectOk(await c.declare(queue), 201);
      expectOk(await c.bind(exchange, { queue }), 201);
    }
    const messages = Array.from({ length: 500 }, () => ({ body: "" }));
    expectRefused(await c.publish(exchange, messages), "invalid-argument");
    expect(await c.stats(queues[0] ?? "")).toMatchObject({ enqueued: "0" });
    const headers = { "idempotency-key": unique() };
    const half = expectOk(await c.publish(exchange, messages.slice(0, 250), {}, headers), 201);
    expect(expectOk(await c.publish(exchange, messages.slice(0, 250), {}, headers), 201)).toEqual(half);
  }, 60_000);

  it("counts what reaches no queue once, however often it is repeated", async () => {
    const [{ client: c }] = await twoProcesses(service);
    const exchange = unique("exchange");
    expectOk(await c.declareExchange(exchange, { type: "direct" }), 201);
    const headers = { "idempotency-key": unique() };
    const call = () => c.publish(exchange, [{ body: "nowhere" }], {}, headers);
    const told = expectOk(await call(), 201);
    expect(expectOk(await call(), 201)).toEqual(told);
    expect(expectOk(await c.getExchange(exchange)).stats).toEqual({ unroutable: "1" });
  });
});

describe("a list of bindings", () => {
  it("stops before 4 MB and goes on with its cursor", async () => {
    const [{ client: c }] = await twoProcesses(service);
    const { exchange, queues } = await newFanout(c, 0);
    const queue = await newQueue(c);
    expect(queues).toEqual([]);
    const given = { note: "x".repeat(16_000) };
    const keys = Array.from({ length: 270 }, (_, i) => `${i}`.padStart(3, "0"));
    for (const bindingKey of keys) expectOk(await c.bind(exchange, { queue, bindingKey, arguments: given }), 201);
    const first = expectOk(await c.listBindings(exchange, { limit: 500 }));
    expect(JSON.stringify(first).length).toBeLessThan(4_000_000);
    expect(first.cursor).toBeDefined();
    const second = expectOk(await c.listBindings(exchange, { limit: 500, cursor: first.cursor }));
    expect([...first.bindings, ...second.bindings].map(({ bindingKey }) => bindingKey)).toEqual(keys);
  }, 60_000);
});

describe("a publish to several queues in a branch", () => {
  it("is routed at once, and stands on all of them from the commit", async () => {
    const [{ client: c }] = await twoProcesses(service);
    const { exchange, queues } = await newFanout(c, 3);
    const s = await newSession(c);
    const [kept, undone] = [newXid(), newXid()];
    for (const [xid, body] of [
      [kept, "kept"],
      [undone, "undone"],
    ] as const) {
      const b = await begin(s, xid);
      const sent = expectOk(await b.publish(exchange, [{ body }]), 201);
      expect(sent.completed).toBe(false);
      expect(sent.messages[0]?.queues.map(({ queue }) => queue).toSorted()).toEqual(queues.toSorted());
      await endAndPrepare(s, xid);
    }
    const later = await newQueue(c);
    expectOk(await c.bind(exchange, { queue: later }), 201);
    expect(await standingOn(c, queues)).toEqual([[], [], []]);
    expectXa(await c.commit(kept), "XA_OK");
    expectXa(await c.rollback(undone), "XA_OK");
    expect(await standingOn(c, [...queues, later])).toEqual([["kept"], ["kept"], ["kept"], []]);
  });

  it("goes to more queues than one commit takes", async () => {
    const [{ client: c }] = await twoProcesses(service);
    const { exchange, queues } = await newFanout(c, 120);
    const s = await newSession(c);
    const xid = newXid();
    const b = await begin(s, xid);
    expectOk(await b.publish(exchange, [{ body: "all" }]), 201);
    await endAndPrepare(s, xid);
    expectXa(await c.commit(xid), "XA_OK");
    expect(await standingOn(c, queues)).toEqual(queues.map(() => ["all"]));
  }, 60_000);
});
