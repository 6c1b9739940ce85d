import { describe, expect, test } from "vitest";
import { type Client, deferred } from "../support/client.ts";
import { commitsOn, holdCalls } from "../support/held-calls.ts";
import { type InProcess, useInProcessService } from "../support/in-process.ts";
import { bodiesOf, expectOk, expectRefused, newQueue, newQueues, take } from "../support/moves.ts";
import { unique } from "../support/names.ts";
import { eventually } from "../support/poll.ts";

const service = useInProcessService();

interface Stage {
  readonly one: InProcess;
  readonly c: Client;
  readonly name: string;
  readonly s: Client;
}

/** A fresh process, and a session in it. */
const stage = async (): Promise<Stage> => {
  const one = await service.process("one");
  await one.restart();
  const name = unique("session");
  return { one, c: one.client, name, s: await one.client.attached(name) };
};

const completions = async (c: Client, name: string, after?: string) =>
  expectOk(await c.completions(name, after === undefined ? {} : { after }));

const idsOf = ({ completions: some }: { readonly completions: readonly { readonly commandId: string }[] }) =>
  some.map(({ commandId }) => commandId);

const commitsOf = (queues: readonly string[]) => (call: Parameters<typeof commitsOn>[0]) =>
  call.request.lambda === "worker/commands" ? queues.find((queue) => commitsOn(call, queue)) : undefined;

describe("AS: commands that complete by themselves", () => {
  test("AS-1: three publishes whose writes finish in reverse: each completes with its own write, sync after the last", async () => {
    const { one, c, name, s } = await stage();
    const queues = await newQueues(c, 3);
    for (const [i, queue] of queues.entries()) {
      expect(deferred(await s.later.enqueue(queue, [{ body: queue }]))).toBe(String(i + 1));
    }
    const held = holdCalls(one, commitsOf(queues));
    const worked = one.runWorker();
    await Promise.all(queues.map((queue) => held.held(queue)));
    expect(await completions(c, name)).toEqual({ completions: [], completedThrough: "0" });
    const done: string[] = [];
    for (const [i, queue] of [...queues.entries()].toReversed()) {
      expect(expectOk(await c.sync(name, 0), 202).open).toEqual(queues.slice(0, i + 1).map((_, n) => String(n + 1)));
      expect(await bodiesOf(c, queue)).toEqual([]);
      held.release(queue);
      done.unshift(String(i + 1));
      await eventually(async () => expect(idsOf(await completions(c, name))).toEqual(done));
      expect((await completions(c, name)).completedThrough).toBe(i === 0 ? "3" : "0");
    }
    await worked;
    expect(expectOk(await c.sync(name))).toEqual({ completedThrough: "3", open: [] });
    for (const { status, body } of (await completions(c, name)).completions) {
      expect({ status, body }).toMatchObject({ status: 201, body: { completed: true } });
    }
  });

  test("AS-2: one accept of three deliveries of two queues, removed in reverse: it completes once, after the last", async () => {
    const { one, c, name, s } = await stage();
    const [first, second] = [await newQueue(c, ["1"]), await newQueue(c, ["3"])];
    expectOk(await c.enqueue(first, [{ body: "2" }]), 201);
    const deliveries = [...(await take(s, first, 2)), ...(await take(s, second))];
    const ids = deliveries.map(({ deliveryId }) => deliveryId);
    deferred(await s.later.accept(ids));
    const positions = ["0", "1"].map((at) => `"QUEUE#${first}#`.concat(`|M#${at.padStart(20, "0")}`));
    const parts = [...positions, `"QUEUE#${second}#|M#${"0".padStart(20, "0")}`];
    const held = holdCalls(one, ({ request, operation, input }) => {
      if (request.lambda !== "worker/commands" || operation !== "TransactWriteItems") return undefined;
      const json = JSON.stringify(input);
      return parts.find((part) => part.split("|").every((text) => json.includes(text)));
    });
    const worked = one.runWorker();
    await Promise.all(parts.map((part) => held.held(part)));
    for (const part of parts.toReversed()) {
      expect((await completions(c, name)).completions).toEqual([]);
      held.release(part);
    }
    await worked;
    expect(await completions(c, name)).toEqual({
      completions: [
        {
          commandId: "1",
          status: 200,
          body: {
            outcomes: ids.map((deliveryId) => ({ deliveryId, status: "accepted", completed: true })),
            completed: true,
          },
        },
      ],
      completedThrough: "1",
    });
    for (const queue of [first, second]) expect(await c.stats(queue)).toMatchObject({ leased: "0", available: "0" });
  });

  test("AS-3: sync after everything is complete answers at once", async () => {
    const { one, c, name, s } = await stage();
    expect(expectOk(await s.sync(name))).toEqual({ completedThrough: "0", open: [] });
    deferred(await s.later.enqueue(await newQueue(c), [{ body: "1" }]));
    await one.runWorker();
    let calls = 0;
    one.onCall = async (_, next) => {
      calls += 1;
      return next();
    };
    expect(expectOk(await s.sync(name))).toEqual({ completedThrough: "1", open: [] });
    expect(calls).toBeLessThanOrEqual(2);
  });

  test("AS-11: a publish to a fast and a slow queue has one completion, after the slow one", async () => {
    const { one, c, name, s } = await stage();
    const [fast, slow] = [await newQueue(c), await newQueue(c)];
    const exchange = unique("exchange");
    expectOk(await c.declareExchange(exchange, { type: "fanout" }), 201);
    for (const queue of [fast, slow]) expectOk(await c.bind(exchange, { queue }), 201);
    const other = await newQueue(c);
    deferred(await s.later.publish(exchange, [{ body: "both" }]));
    deferred(await s.later.enqueue(other, [{ body: "past it" }]));
    const held = holdCalls(one, ({ request, operation, input }) =>
      request.lambda === "worker/commands" && operation === "UpdateItem" && JSON.stringify(input).includes(`"${slow}#`)
        ? slow
        : undefined,
    );
    const worked = one.runWorker();
    await held.held(slow);
    // What goes to other queues is not held up.
    await eventually(async () => expect(idsOf(await completions(c, name))).toEqual(["2"]));
    expect(await bodiesOf(c, fast)).toEqual([]);
    // Nor is what is sent only now, whose own message waits behind the one that the worker is at.
    deferred(await s.later.enqueue(other, [{ body: "past it too" }]));
    await eventually(async () => expect(idsOf(await completions(c, name))).toEqual(["2", "3"]));
    held.release(slow);
    await worked;
    expect(idsOf(await completions(c, name))).toEqual(["1", "2", "3"]);
    for (const queue of [fast, slow]) expect(await bodiesOf(c, queue)).toEqual(["both"]);
  });

  test("AS-12: one of three dequeues fails: its outcome says so, the others stand, the accept is complete with all", async () => {
    const { one, c, name, s } = await stage();
    const queue = await newQueue(c, ["1", "2", "3"]);
    const ids = (await take(s, queue, 3)).map(({ deliveryId }) => deliveryId);
    expectOk(await c.release(ids.slice(1, 2)));
    deferred(await s.later.accept(ids));
    await one.runWorker();
    const [completion] = (await completions(c, name)).completions;
    expect(completion?.status).toBe(200);
    expect(completion?.body).toMatchObject({
      outcomes: [{ status: "accepted" }, { status: "lease-lost" }, { status: "accepted" }],
      completed: true,
    });
    expect(await bodiesOf(c, queue)).toEqual(["2"]);
  });

  test("SC-10: a command sent again after a lost answer is the same command, and enqueues once", async () => {
    const { one, c, name, s } = await stage();
    const queue = await newQueue(c);
    const key = { "idempotency-key": unique("key") };
    const first = deferred(await s.later.enqueue(queue, [{ body: "once" }], key));
    expect(deferred(await s.later.enqueue(queue, [{ body: "once" }], key))).toBe(first);
    expectRefused(await s.later.enqueue(queue, [{ body: "other" }], key), "idempotency-key-reused");
    await one.runWorker();
    expect(deferred(await s.later.enqueue(queue, [{ body: "once" }], key))).toBe(first);
    await one.runWorker();
    expect(idsOf(await completions(c, name))).toEqual([first]);
    expect(await bodiesOf(c, queue)).toEqual(["once"]);
  });
});

describe("A session's commands", () => {
  test("of every kind answer later what they would have answered at once, failures included", async () => {
    const { one, c, name, s } = await stage();
    const [queue, exchange] = [unique("orders"), unique("events")];
    const { later } = s;
    deferred(await later.declare(queue, { leaseSeconds: 7 }));
    deferred(await later.declare(queue, { leaseSeconds: 8 }));
    deferred(await later.declareExchange(exchange, { type: "direct" }));
    deferred(await later.bind(exchange, { queue, bindingKey: "k" }));
    deferred(await later.publish(exchange, [{ body: "1", messageId: "m" }], { routingKey: "k" }));
    deferred(await later.publish(exchange, [{ body: "2" }], { routingKey: "no", mandatory: true }));
    deferred(await later.enqueue(unique(), [{ body: "3" }]));
    await one.runWorker();
    const [taken] = await take(c, queue);
    deferred(await later.release([taken?.deliveryId ?? ""]));
    await one.runWorker();
    const [again] = await take(c, queue);
    expect(again).toMatchObject({ body: "1", redelivered: true });
    deferred(await later.reject([again?.deliveryId ?? ""], "no"));
    deferred(await later.unbind(exchange, { queue, bindingKey: "k" }));
    deferred(await later.deleteExchange(exchange));
    deferred(await later.deleteQueue(queue));
    await one.runWorker();
    const { completions: all, completedThrough } = await completions(c, name);
    expect(completedThrough).toBe("12");
    expect(all.map(({ status }) => status)).toEqual([201, 412, 201, 201, 201, 422, 404, 200, 200, 204, 204, 204]);
    expect(all[0]?.body).toMatchObject({ queue, leaseSeconds: 7 });
    expect(all[1]?.body).toMatchObject({ code: "precondition-failed", status: 412 });
    expect(all[4]?.body).toMatchObject({ messages: [{ messageId: "m", queues: [{ queue, sequence: "0" }] }] });
    expect(all[5]?.body).toMatchObject({ code: "no-route" });
    expect(all[9]?.body).toBeNull();
    expectRefused(await c.getQueue(queue), "not-found");
  });

  test("go on when the session is resumed, and their completions with it", async () => {
    const { one, c, name, s } = await stage();
    const queue = await newQueue(c);
    deferred(await s.later.enqueue(queue, [{ body: "1" }]));
    const resumed = await c.attached(name);
    expectRefused(await s.later.enqueue(queue, [{ body: "late" }]), "session-fenced");
    expectRefused(await s.later.declare(queue), "session-fenced");
    await one.restart();
    await one.runWorker();
    expect(deferred(await resumed.later.enqueue(queue, [{ body: "2" }]))).toBe("2");
    await one.runWorker();
    expect(idsOf(await completions(c, name))).toEqual(["1", "2"]);
    expect(await bodiesOf(c, queue)).toEqual(["1", "2"]);
  });

  test("run after a detach too, but nobody is told", async () => {
    const { one, c, name, s } = await stage();
    const queue = await newQueue(c);
    deferred(await s.later.enqueue(queue, [{ body: "1" }]));
    expectOk(await s.detach(name), 204);
    await one.runWorker();
    expect(await bodiesOf(c, queue)).toEqual(["1"]);
    const again = await c.attached(name);
    expect(await completions(c, name)).toEqual({ completions: [], completedThrough: "1" });
    expect(deferred(await again.later.enqueue(queue, [{ body: "2" }]))).toBe("2");
  });

  test("are done once however often the command queue delivers, and woken by the schedule when it lost them", async () => {
    const { one, c, name, s } = await stage();
    const queue = await newQueue(c);
    one.onCall = async ({ operation }, next) => {
      if (operation === "SendMessageBatch") throw Object.assign(new Error("out of reach"), { name: "TimeoutError" });
      return next();
    };
    for (const body of ["1", "2"]) deferred(await s.later.enqueue(queue, [{ body }]));
    one.onCall = undefined;
    await one.runWorker();
    expect(await bodiesOf(c, queue)).toEqual([]);
    expect(expectOk(await c.getSession(name)).incompleteCommands).toBe("2");
    await one.runSchedule();
    await one.runWorker("twice at once");
    expect(await bodiesOf(c, queue)).toEqual(["1", "2"]);
    expect(idsOf(await completions(c, name))).toEqual(["1", "2"]);
    expect(expectOk(await c.getSession(name)).incompleteCommands).toBe("0");
  });

  test("are listed after the id that is given, waited for, and never across what is open", async () => {
    const { one, c, name, s } = await stage();
    const queue = await newQueue(c);
    for (const body of ["1", "2", "3"]) deferred(await s.later.enqueue(queue, [{ body }]));
    const waiting = c.completions(name, { waitSeconds: 20 });
    await one.runWorker();
    expect(expectOk(await waiting).completions[0]?.commandId).toBe("1");
    expect(idsOf(await completions(c, name, "1"))).toEqual(["2", "3"]);
    expect(await completions(c, name, "3")).toEqual({ completions: [], completedThrough: "3" });
    expectRefused(await c.completions(unique()), "not-found");
    expectRefused(await c.sync(unique()), "not-found");
  });

  test("need a session, and are not applied in a branch", async () => {
    const { c, s } = await stage();
    const queue = await newQueue(c);
    const answer = await c.later.enqueue(queue, [{ body: "at once" }]);
    expectOk(answer, 201);
    const xid = "1.aa.";
    expectOk(await s.start(xid));
    expect(expectOk(await s.within(xid).later.enqueue(queue, [{ body: "in the branch" }]), 201).completed).toBe(false);
    expectOk(await s.end(xid));
    expectOk(await s.rollback(xid));
  });

  test("hold back what the session enqueues after them, asynchronous or not", async () => {
    const { one, c, name, s } = await stage();
    const queue = await newQueue(c);
    deferred(await s.later.enqueue(queue, [{ body: "1" }]));
    const behind = s.enqueue(queue, [{ body: "2" }], { "idempotency-key": "k" });
    await eventually(async () => expect(expectOk(await c.getSession(name)).incompleteCommands).toBe("2"));
    await one.runWorker();
    const answer = expectOk(await behind, 201);
    expect(answer).toMatchObject({ messages: [{ queues: [{ queue, sequence: "1" }] }], completed: true });
    expect(expectOk(await s.enqueue(queue, [{ body: "2" }], { "idempotency-key": "k" }), 201)).toEqual(answer);
    expectOk(await s.enqueue(queue, [{ body: "3" }]), 201);
    expect(await bodiesOf(c, queue)).toEqual(["1", "2", "3"]);
    // The one that a call waited for is none of the session's completions.
    expect(idsOf(await completions(c, name))).toEqual(["1"]);
    expect((await completions(c, name)).completedThrough).toBe("2");
  });

  test("of one queue run in order although one of them fails", async () => {
    const { one, c, name, s } = await stage();
    const [full, other] = [await newQueue(c, ["1"], { maxMessages: 2 }), await newQueue(c)];
    for (const body of ["2", "3"]) deferred(await s.later.enqueue(full, [{ body }]));
    deferred(await s.later.enqueue(other, [{ body: "4" }]));
    await one.runWorker();
    expect((await completions(c, name)).completions.map(({ status }) => status)).toEqual([201, 409, 201]);
    expect(await bodiesOf(c, full)).toEqual(["1", "2"]);
  });
});
