import { describe, expect, it } from "vitest";
import type { Client } from "../support/client.ts";
import { bodiesOf, expectOk, expectRefused, newQueue, newQueues } from "../support/moves.ts";
import { unique } from "../support/names.ts";
import { useService } from "../support/service.ts";

const service = useService();
const c = service.client;

const newExchange = async (type: string, alternateExchange?: string): Promise<string> => {
  const exchange = unique("exchange");
  expectOk(await c.declareExchange(exchange, { type, ...(alternateExchange && { alternateExchange }) }), 201);
  return exchange;
};

const bound = async (exchange: string, bindingKey = "", settings = {}): Promise<string> => {
  const queue = await newQueue(c, [], settings);
  expectOk(await c.bind(exchange, { queue, bindingKey }), 201);
  return queue;
};

const publish = async (exchange: string, body: string, routingKey = "", from: Client = c) =>
  expectOk(await from.publish(exchange, [{ body }], { routingKey }), 201).messages[0];

describe("RT-1..6: routing", () => {
  it("RT-1: a direct exchange routes by the whole key", async () => {
    const exchange = await newExchange("direct");
    const [red, both] = [await bound(exchange, "red"), await bound(exchange, "red")];
    expectOk(await c.bind(exchange, { queue: both, bindingKey: "blue" }), 201);
    const sent = await publish(exchange, "1", "red");
    expect(sent).toMatchObject({ duplicate: false });
    expect(sent?.queues.map(({ queue }) => queue).toSorted()).toEqual([red, both].toSorted());
    await publish(exchange, "2", "blue");
    await publish(exchange, "3", "Red");
    expect(await bodiesOf(c, red)).toEqual(["1"]);
    expect(await bodiesOf(c, both)).toEqual(["1", "2"]);
  });

  it("RT-2: a fanout exchange gives each queue one copy, with one id", async () => {
    const exchange = await newExchange("fanout");
    const queues = [await bound(exchange), await bound(exchange, "x")];
    expectOk(await c.bind(exchange, { queue: queues[0] ?? "", bindingKey: "y" }), 201);
    const sent = await publish(exchange, "all", "whatever");
    for (const queue of queues) {
      const [message, ...more] = expectOk(await c.browse(queue)).messages;
      expect(more).toEqual([]);
      expect(message).toMatchObject({ body: "all", messageId: sent?.messageId });
    }
  });

  it("RT-3: a topic exchange: `*` is one word, `#` none or more; one copy however many bindings match", async () => {
    const exchange = await newExchange("topic");
    const [one, many, all] = [await bound(exchange, "a.*"), await bound(exchange, "a.#"), await bound(exchange, "#")];
    expectOk(await c.bind(exchange, { queue: many, bindingKey: "#.b" }), 201);
    for (const key of ["a", "a.b", "a.b.c", "b", ""]) await publish(exchange, key, key);
    expect(await bodiesOf(c, one)).toEqual(["a.b"]);
    expect(await bodiesOf(c, many)).toEqual(["a", "a.b", "a.b.c", "b"]);
    expect(await bodiesOf(c, all)).toEqual(["a", "a.b", "a.b.c", "b", ""]);
  });

  it("RT-4: a headers exchange looks for all arguments, or any", async () => {
    const exchange = await newExchange("headers");
    const [all, any, there] = await newQueues(c, 3);
    const wanted = { kind: "order", urgent: true };
    expectOk(await c.bind(exchange, { queue: all ?? "", arguments: wanted }), 201);
    expectOk(await c.bind(exchange, { queue: any ?? "", arguments: { ...wanted, "x-match": "any" } }), 201);
    expectOk(await c.bind(exchange, { queue: there ?? "", arguments: { urgent: null } }), 201);
    const messages = [
      { body: "both", headers: wanted },
      { body: "one", headers: { kind: "order", urgent: false } },
      { body: "none", headers: { kind: "bill" } },
      { body: "text", headers: { urgent: "true" } },
    ];
    expectOk(await c.publish(exchange, messages), 201);
    expect(await bodiesOf(c, all ?? "")).toEqual(["both"]);
    expect(await bodiesOf(c, any ?? "")).toEqual(["both", "one"]);
    expect(await bodiesOf(c, there ?? "")).toEqual(["both", "one", "text"]);
  });

  it("RT-5: what no binding matches goes to the alternate exchange, and on to that one's", async () => {
    const last = await newExchange("fanout");
    const middle = await newExchange("direct", last);
    const exchange = await newExchange("direct", middle);
    const queues = [await bound(exchange, "1"), await bound(middle, "2"), await bound(last)];
    for (const key of ["1", "2", "3"]) await publish(exchange, key, key);
    expect(await Promise.all(queues.map((queue) => bodiesOf(c, queue)))).toEqual([["1"], ["2"], ["3"]]);
    expectRefused(await c.deleteExchange(last), "not-allowed");
    expectOk(await c.deleteExchange(exchange), 204);
    expectOk(await c.deleteExchange(middle), 204);
    expectOk(await c.deleteExchange(last), 204);
  });

  it("RT-6: mandatory refuses what reaches no queue, whole; otherwise it is dropped and counted", async () => {
    const exchange = await newExchange("headers");
    const queue = await newQueue(c);
    expectOk(await c.bind(exchange, { queue, arguments: { k: 1 } }), 201);
    const messages = [{ body: "kept", headers: { k: 1 } }, { body: "lost" }];
    const refused = await c.publish(exchange, messages, { mandatory: true });
    expectRefused(refused, "no-route");
    expect(refused.problem?.detail).toMatch(/: messages\[1\]$/);
    expect(await bodiesOf(c, queue)).toEqual([]);
    const sent = expectOk(await c.publish(exchange, messages), 201);
    expect(sent.messages.map(({ queues }) => queues.length)).toEqual([1, 0]);
    expect(sent.messages[1]?.messageId).toEqual(expect.any(String));
    expect(await bodiesOf(c, queue)).toEqual(["kept"]);
    expect(expectOk(await c.getExchange(exchange)).stats).toEqual({ unroutable: "1" });
  });

  it("the standard exchanges are there, whatever was done to them", async () => {
    const types = { "amq.direct": "direct", "amq.fanout": "fanout", "amq.topic": "topic", "amq.match": "headers" };
    const key = unique();
    for (const [exchange, type] of Object.entries(types)) {
      const view = { exchange, type, alternateExchange: null };
      expect(expectOk(await c.getExchange(exchange))).toMatchObject(view);
      expect(expectOk(await c.declareExchange(exchange, { type }))).toEqual(view);
      expectRefused(await c.deleteExchange(exchange), "not-allowed");
    }
    const queue = await bound("amq.topic", `${key}.#`);
    await publish("amq.topic", "to a standard one", `${key}.a`);
    await publish("amq.direct", "lost", key);
    expect(await bodiesOf(c, queue)).toEqual(["to a standard one"]);
    expect(Number(expectOk(await c.getExchange("amq.direct")).stats.unroutable)).toBeGreaterThan(0);
    expectRefused(await c.declareExchange("amq.topic", { type: "fanout" }), "not-allowed");
    expectRefused(await c.declareExchange("amq.other", { type: "fanout" }), "not-allowed");
  });
});

describe("SIM-8..11: exchanges and bindings over a restart", () => {
  it("SIM-8: exchanges survive, with their types and alternates", async () => {
    const alternate = await newExchange("fanout");
    const exchange = await newExchange("topic", alternate);
    await service.restart();
    expect(expectOk(await c.getExchange(exchange))).toMatchObject({ type: "topic", alternateExchange: alternate });
    expectRefused(await c.declareExchange(exchange, { type: "direct" }), "not-allowed");
    expectRefused(await c.declareExchange(exchange, { type: "topic" }), "precondition-failed");
    expectOk(await c.declareExchange(exchange, { type: "topic", alternateExchange: alternate }));
  });

  it("SIM-9: bindings survive, with their arguments", async () => {
    const exchange = await newExchange("headers");
    const queue = await newQueue(c);
    const binding = {
      queue,
      bindingKey: "of #1.*",
      arguments: { k: "v", n: 1, b: false, there: null, "x-match": "any" },
    };
    expect(expectOk(await c.bind(exchange, binding), 201)).toEqual({ exchange, ...binding });
    await service.restart();
    expect(expectOk(await c.listBindings(exchange)).bindings).toEqual([binding]);
    expectOk(await c.bind(exchange, binding));
    expectRefused(await c.bind(exchange, { ...binding, arguments: {} }), "precondition-failed");
    expectOk(await c.publish(exchange, [{ body: "1", headers: { n: 1 } }]), 201);
    expect(await bodiesOf(c, queue)).toEqual(["1"]);
  });

  it("SIM-10: a deleted queue takes its bindings along; declared again it has none", async () => {
    const exchange = await newExchange("fanout");
    const [gone, stays] = [await bound(exchange), await bound(exchange)];
    expectRefused(await c.deleteQueue(gone, { ifUnused: true }), "precondition-failed");
    expectOk(await c.deleteQueue(gone), 204);
    expect(expectOk(await c.listBindings(exchange)).bindings.map(({ queue }) => queue)).toEqual([stays]);
    expectOk(await c.declare(gone), 201);
    await service.restart();
    expect((await publish(exchange, "after"))?.queues.map(({ queue }) => queue)).toEqual([stays]);
    expectOk(await c.deleteQueue(gone, { ifUnused: true }), 204);
  });

  it("SIM-11: a deleted exchange takes its bindings along; declared again it has none", async () => {
    const exchange = await newExchange("fanout");
    const queue = await bound(exchange);
    expectOk(await c.deleteExchange(exchange), 204);
    expectRefused(await c.getExchange(exchange), "not-found");
    expectRefused(await c.publish(exchange, [{ body: "nowhere" }]), "not-found");
    expectRefused(await c.deleteExchange(exchange), "not-found");
    expectOk(await c.declareExchange(exchange, { type: "fanout" }), 201);
    await service.restart();
    expect(expectOk(await c.listBindings(exchange)).bindings).toEqual([]);
    expect((await publish(exchange, "nowhere"))?.queues).toEqual([]);
    expectOk(await c.deleteQueue(queue, { ifUnused: true }), 204);
  });
});

describe("bindings", () => {
  it("are taken away one by one, and are listed page by page", async () => {
    const exchange = await newExchange("direct");
    const queue = await newQueue(c);
    const keys = ["", "a", "a#b", "b", "\u{10ffff}b"];
    for (const bindingKey of keys) expectOk(await c.bind(exchange, { queue, bindingKey }), 201);
    const first = expectOk(await c.listBindings(exchange, { limit: 3 }));
    const second = expectOk(await c.listBindings(exchange, { limit: 3, cursor: first.cursor }));
    expect([...first.bindings, ...second.bindings].map(({ bindingKey }) => bindingKey).toSorted()).toEqual(keys);
    expect(second.cursor).toBeUndefined();
    expectOk(await c.unbind(exchange, { queue, bindingKey: "a#b" }), 204);
    expectRefused(await c.unbind(exchange, { queue, bindingKey: "a#b" }), "not-found");
    await publish(exchange, "gone", "a#b");
    await publish(exchange, "kept", "a");
    expect(await bodiesOf(c, queue)).toEqual(["kept"]);
  });

  it.each([
    ["an unknown type", () => c.declareExchange(unique(), { type: "rpc" }), "type"],
    [
      "itself as its alternate",
      () => c.declareExchange("self", { type: "direct", alternateExchange: "self" }),
      "alternateExchange",
    ],
    [
      "an unknown match",
      () => c.bind("amq.match", { queue: "q", arguments: { "x-match": "some" } }),
      "arguments.x-match",
    ],
    [
      "a list as an argument",
      () => c.call("PUT", "/exchanges/amq.match/bindings", { body: { queue: "q", arguments: { a: [] } } }),
      "arguments.a",
    ],
    ["no queue", () => c.call("PUT", "/exchanges/amq.match/bindings", { body: {} }), "queue"],
    [
      "an unknown field",
      () => c.call("POST", "/exchanges/amq.topic/messages", { body: { messages: [{ body: "" }], key: "" } }),
      "key",
    ],
  ])("refuse %s", async (_, call, path) => {
    const answer = await call();
    expectRefused(answer, "invalid-argument");
    expect(answer.problem?.errors?.map((error) => error.path)).toEqual([path]);
  });

  it("need an exchange and a queue that are there", async () => {
    const exchange = await newExchange("direct");
    const queue = await newQueue(c);
    expectRefused(await c.bind(unique(), { queue }), "not-found");
    expectRefused(await c.bind(exchange, { queue: unique() }), "not-found");
    expectRefused(await c.listBindings(unique()), "not-found");
    expectRefused(await c.declareExchange(unique(), { type: "direct", alternateExchange: unique() }), "not-found");
  });
});
