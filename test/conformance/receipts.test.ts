import { describe, expect, it } from "vitest";
import type { Receipt } from "../support/http.ts";
import { begin, expectOk, expectRefused, newQueue, newSession, take } from "../support/moves.ts";
import { newXid, unique } from "../support/names.ts";
import { idsOf } from "../support/outcomes.ts";
import { useService } from "../support/service.ts";

const service = useService();
const c = service.client;

// That every response has a well-formed receipt is checked where answers come in: `test/support/http.ts`.

const nothing: Receipt = { wru: 0, rru: 0 };

describe("the cost receipt", () => {
  it("of a call that needs no table is zero: health, no such path, no such method, what cannot be read", async () => {
    const answers = [
      await c.health(),
      await c.call("GET", "/nowhere"),
      await c.call("PATCH", "/queues"),
      await c.call("POST", "/queues/q/messages", { rawBody: "{" }),
      await c.call("PUT", "/queues/a%20b"),
      await c.declare("amq.x"),
    ];
    for (const answer of answers) expect(answer.receipt).toEqual(nothing);
  });

  it("of a call that changes something is above zero, of one that looks writes nothing", async () => {
    const s = await newSession(c);
    const queue = await newQueue(c, ["a", "b", "c", "d"]);
    const session = s.context.session ?? "";
    const xid = newXid();
    const deliveries = idsOf(await take(s, queue, 3));
    const changes = {
      declare: await c.declare(unique()),
      enqueue: await c.enqueue(queue, [{ body: "x" }]),
      acquire: await s.acquire(queue),
      extend: await s.extend(deliveries, 60),
      accept: await s.accept(deliveries.slice(0, 1)),
      release: await s.release(deliveries.slice(1, 2)),
      reject: await s.reject(deliveries.slice(2, 3)),
      attach: await c.attach(unique("session")),
      "keep alive": await s.keepAlive(session),
      start: await s.start(xid),
      "enqueue in the branch": await s.within(xid).enqueue(queue, [{ body: "y" }]),
      "set timeout": await c.setTimeout(xid, 100),
      end: await s.end(xid),
      prepare: await c.prepare(xid),
      commit: await c.commit(xid),
      purge: await c.purge(queue),
      detach: await c.detach(session),
      delete: await c.deleteQueue(queue),
    };
    for (const [name, answer] of Object.entries(changes)) {
      expect(answer.problem, name).toBeUndefined();
      expect(answer.receipt.wru, name).toBeGreaterThan(0);
    }
    const other = await newQueue(c, ["a"]);
    const looks = {
      "get queue": await c.getQueue(other),
      list: await c.listQueues({ limit: 5 }),
      browse: await c.browse(other),
      recover: await c.recoverPage(),
      "get session": await c.getSession(session),
      "get branch": await c.getBranch(xid),
    };
    for (const [name, answer] of Object.entries(looks)) {
      expect(answer.problem, name).toBeUndefined();
      expect(answer.receipt.wru, name).toBe(0);
      expect(answer.receipt.rru, name).toBeGreaterThan(0);
    }
  });

  it("of a call that is refused after a look names what the look cost", async () => {
    const missing = await c.getQueue(unique("missing"));
    expectRefused(missing, "not-found");
    expect(missing.receipt.wru).toBe(0);
    expect(missing.receipt.rru).toBeGreaterThan(0);
  });

  it("grows with what is written and read", async () => {
    const queue = await newQueue(c);
    const small = await c.enqueue(queue, [{ body: "x" }]);
    const large = await c.enqueue(queue, [{ body: "x".repeat(100_000) }]);
    expectOk(large, 201);
    expect(large.receipt.wru).toBeGreaterThanOrEqual(small.receipt.wru + 97);
    expect(large.receipt.wru).toBeLessThan(130);
    expect((await c.browse(queue)).receipt.rru).toBeGreaterThan(10);
  });

  it("is of its own call alone, with many at once", async () => {
    const queues = await Promise.all(Array.from({ length: 10 }, () => newQueue(c)));
    const alone = (await c.enqueue(queues[0] ?? "", [{ body: "x" }])).receipt.wru;
    const together = await Promise.all(queues.map((queue) => c.enqueue(queue, [{ body: "x" }])));
    for (const answer of together) expect(answer.receipt.wru).toBe(alone);
  });

  it("is on refusals and answers of a branch that is met on the way", async () => {
    const s = await newSession(c);
    const xid = newXid();
    await begin(s, xid);
    const refused = await s.start(xid);
    expectRefused(refused, "not-allowed");
    expect(refused.receipt.rru).toBeGreaterThan(0);
  });
});

describe("health", () => {
  it("answers ok and a version", async () => {
    expect(expectOk(await c.health())).toEqual({ status: "ok", version: expect.stringMatching(/^\d+\.\d+\.\d+/) });
  });
});
