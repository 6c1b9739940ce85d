import { afterAll, describe, expect, it } from "vitest";
import { routes } from "../../cdk/routes.ts";
import { problem } from "../../tools/openapi/answers.ts";
import { operations } from "../../tools/openapi/document.ts";
import type { Answer } from "../support/http.ts";
import { newXid, unique } from "../support/names.ts";
import { useService } from "../support/service.ts";

const service = useService();
const told = new Map<string, Set<number>>();

/** Holds an answer to what the document says of its route. */
const documented = (lambda: string, answer: Answer<unknown>): void => {
  const where = `${lambda} ${answer.status}`;
  if (answer.problem !== undefined) {
    expect(problem.safeParse(answer.problem).error, where).toBeUndefined();
    expect(["invalid-argument", ...(operations[lambda]?.problems ?? [])], where).toContain(answer.problem.code);
  } else {
    const known = operations[lambda]?.answers[answer.status];
    expect(known, where).toBeDefined();
    if (known?.[1] !== undefined) expect(known[1].safeParse(answer.body).error, where).toBeUndefined();
  }
  told.set(lambda, (told.get(lambda) ?? new Set()).add(answer.status));
};

describe("what the service answers is what docs/openapi.json says", () => {
  it("of queues, messages and deliveries", async () => {
    const c = service.client;
    const [queue, letters] = [unique("orders"), unique("letters")];
    documented("health", await c.health());
    documented("store/status", await c.storeStatus());
    documented("queues/declare", await c.declare(letters));
    documented(
      "queues/declare",
      await c.declare(queue, { deadLetterQueue: letters, maxDeliveries: 3, maxMessages: 9 }),
    );
    documented("queues/declare", await c.declare(letters));
    documented("queues/declare", await c.declare(letters, { strictOrder: true }));
    documented("queues/declare", await c.declare("amq.mine"));
    documented("queues/list", await c.listQueues({ limit: 1 }));
    const full = {
      body: "b",
      contentType: "text/plain",
      correlationId: "c",
      replyTo: "r",
      headers: { a: "b", n: 1, t: true },
      ttlSeconds: 600,
      priority: 9,
      deduplicationId: "d",
    };
    documented(
      "queues/enqueue",
      await c.enqueue(queue, [full, { body: "" }, { body: "AA==", bodyEncoding: "base64" }]),
    );
    documented("queues/enqueue", await c.enqueue(queue, [full]));
    documented("queues/enqueue", await c.enqueue(queue, Array(20).fill({ body: "" })));
    documented("queues/enqueue", await c.enqueue(queue, []));
    documented("queues/enqueue", await c.enqueue(unique(), [full]));
    documented("queues/browse", await c.browse(queue, { limit: 1 }));
    const acquired = await c.acquire(queue, { maxMessages: 2 });
    documented("queues/acquire", acquired);
    const ids = acquired.body.deliveries.map(({ deliveryId }) => deliveryId);
    documented("deliveries/extend", await c.extend(ids, 60));
    documented("deliveries/reject", await c.reject(ids.slice(0, 1), "not mine"));
    documented("queues/redrive", await c.redrive(letters));
    documented("queues/redrive", await c.redrive(letters, letters));
    documented("queues/redrive", await c.redrive(unique()));
    documented("queues/acquire", await c.acquire(letters, { settle: "none" }));
    documented("deliveries/release", await c.release(ids.slice(1), { delaySeconds: 9 }));
    documented("deliveries/accept", await c.accept(ids));
    documented("queues/get", await c.getQueue(queue));
    documented("queues/purge", await c.purge(queue));
    documented("queues/delete", await c.deleteQueue(queue, { ifEmpty: true }));
    documented("queues/delete", await c.deleteQueue(letters));
    documented("queues/get", await c.getQueue(letters));
  });

  it("of exchanges and bindings", async () => {
    const c = service.client;
    const [queue, exchange] = [unique("orders"), unique("events")];
    await c.declare(queue);
    documented(
      "exchanges/declare",
      await c.declareExchange(exchange, { type: "headers", alternateExchange: "amq.fanout" }),
    );
    documented(
      "exchanges/declare",
      await c.declareExchange(exchange, { type: "headers", alternateExchange: "amq.fanout" }),
    );
    documented("exchanges/declare", await c.declareExchange(exchange, { type: "direct" }));
    documented("exchanges/declare", await c.declareExchange(exchange, { type: "headers" }));
    documented("exchanges/declare", await c.declareExchange(unique(), { type: "topic", alternateExchange: unique() }));
    const given = { kind: "order", n: 1, b: true, there: null, "x-match": "any" };
    documented("exchanges/bind", await c.bind(exchange, { queue, bindingKey: "k", arguments: given }));
    documented("exchanges/bind", await c.bind(exchange, { queue, bindingKey: "k", arguments: given }));
    documented("exchanges/bind", await c.bind(exchange, { queue, bindingKey: "k" }));
    await c.bind(exchange, { queue, bindingKey: "l" });
    documented("exchanges/list-bindings", await c.listBindings(exchange, { limit: 1 }));
    documented("exchanges/publish", await c.publish(exchange, [{ body: "", headers: { n: 1 } }, { body: "" }]));
    documented("exchanges/publish", await c.publish(exchange, [{ body: "" }], { mandatory: true }));
    documented("exchanges/get", await c.getExchange(exchange));
    documented("exchanges/get", await c.getExchange(unique()));
    documented("exchanges/unbind", await c.unbind(exchange, { queue, bindingKey: "k" }));
    documented("exchanges/unbind", await c.unbind(exchange, { queue, bindingKey: "k" }));
    documented("exchanges/delete", await c.deleteExchange(exchange));
    documented("exchanges/delete", await c.deleteExchange(exchange));
    documented("exchanges/delete", await c.deleteExchange("amq.topic"));
  });

  it("of commands that complete by themselves", async () => {
    const c = service.client;
    const [queue, exchange, name] = [unique("orders"), unique("events"), unique("billing")];
    const s = await c.attached(name);
    const { later } = s;
    documented("queues/declare", await later.declare(queue, { messageDurability: "never" }));
    documented("exchanges/declare", await later.declareExchange(exchange, { type: "fanout" }));
    documented("exchanges/bind", await later.bind(exchange, { queue }));
    documented("queues/enqueue", await later.enqueue(queue, [{ body: "1" }]));
    documented("exchanges/publish", await later.publish(exchange, [{ body: "2" }]));
    documented("sessions/sync", await s.sync(name));
    documented("queues/enqueue", await s.enqueue(queue, [{ body: "3" }]));
    documented("exchanges/publish", await s.publish(exchange, [{ body: "4" }]));
    const id = "MC8wLzAvVG9rZW4vR2VuL3F1ZXVl";
    documented("deliveries/accept", await later.accept([id]));
    documented("deliveries/release", await later.release([id]));
    documented("deliveries/reject", await later.reject([id]));
    documented("exchanges/unbind", await later.unbind(exchange, { queue }));
    documented("exchanges/delete", await later.deleteExchange(exchange));
    // The worker may be faster than one question.
    for (let status = 200; status === 200; ) {
      await Promise.all(Array.from({ length: 10 }, () => later.enqueue(queue, [{ body: "5" }])));
      const synced = await s.sync(name, 0);
      documented("sessions/sync", synced);
      status = synced.status;
    }
    documented("queues/delete", await later.deleteQueue(queue));
    documented("sessions/sync", await s.sync(name));
    documented("sessions/completions", await s.completions(name));
    documented("sessions/completions", await s.completions(unique()));
    const stale = c.with({ session: name, epoch: 9 }).later;
    documented("queues/declare", await stale.declare(queue));
    documented("deliveries/accept", await stale.accept([id]));
  });

  it("of sessions, branches and recovery", async () => {
    const c = service.client;
    const queue = unique("orders");
    await c.declare(queue);
    const name = unique("billing");
    documented("sessions/attach", await c.attach(name));
    documented("sessions/attach", await c.attach(name, 60));
    const s = c.with({ session: name, epoch: 2 });
    documented("sessions/attach", await s.keepAlive(name));
    const xid = newXid();
    documented("dtx/start", await s.start(xid));
    documented("dtx/start", await s.start(xid));
    documented("dtx/get-timeout", await c.getTimeout(xid));
    documented("dtx/set-timeout", await c.setTimeout(xid, 300));
    await c.enqueue(queue, [{ body: "taken" }]);
    documented("queues/enqueue", await s.within(xid).enqueue(queue, [{ body: "added" }]));
    const taken = await s.within(xid).acquire(queue);
    documented("queues/acquire", taken);
    documented("deliveries/accept", await s.within(xid).accept([taken.body.deliveries[0]?.deliveryId ?? ""]));
    documented("sessions/get", await c.getSession(name));
    documented("dtx/get", await c.getBranch(xid));
    documented("dtx/end", await s.end(xid, { suspend: true }));
    documented("dtx/start", await s.start(xid, { resume: true }));
    documented("dtx/end", await s.end(xid));
    documented("dtx/prepare", await c.prepare(xid));
    documented("dtx/prepare", await c.prepare(xid));
    documented("dtx/recover", await c.recoverPage({ limit: 1 }));
    documented("recovery", await c.recovery());
    documented("sessions/attach", await c.attach(name));
    documented("dtx/get", await c.getBranch(xid));
    documented("dtx/heuristic", await c.heuristic(xid, "commit"));
    documented("dtx/rollback", await c.rollback(xid));
    documented("dtx/get", await c.getBranch(xid));
    documented("dtx/recover", await c.recoverPage());
    documented("dtx/forget", await c.forget(xid));
    documented("dtx/get", await c.getBranch(xid));
    documented("dtx/commit", await c.commit(xid));
    const again = c.with({ session: name, epoch: 3 });
    documented("dtx/start", await s.start(xid));
    documented("dtx/start", await again.start(xid));
    documented("dtx/end", await again.end(xid));
    documented("dtx/commit", await c.commit(xid, { onePhase: true }));
    documented("dtx/commit", await c.commit(xid));
    documented("sessions/detach", await again.detach(name));
    documented("sessions/detach", await c.detach(unique()));
  });

  afterAll(() => {
    const answered = [...told].flatMap(([lambda, statuses]) => [...statuses].map((status) => `${lambda} ${status}`));
    const successes = routes.flatMap(({ lambda }) =>
      Object.keys(operations[lambda]?.answers ?? {}).map((status) => `${lambda} ${status}`),
    );
    expect(answered).toEqual(expect.arrayContaining(successes));
  });
});
