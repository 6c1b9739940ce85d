/** Exchanges, what is bound to them, and what is published through them. */
import type { Stage } from "../../interleavings/scenario.ts";
import { expectOk } from "../../support/moves.ts";
import { unique } from "../../support/names.ts";
import type { MessageInput } from "../../support/shapes.ts";
import type { Operation, Send } from "../operation.ts";
import { BYTES, inSession, messagesOf, numbered, queueOf, working } from "./making.ts";

/** A topic exchange that routes `a.b` to two queues, one of them limited. */
const bound = async (stage: Stage) => {
  const exchange = unique("exchange");
  const [q, r] = [await queueOf(stage, [["m00"]]), await queueOf(stage, [], { maxMessages: 4 })];
  expectOk(await stage.client.declareExchange(exchange, { type: "topic" }), 201);
  expectOk(await stage.client.bind(exchange, { queue: q, bindingKey: "a.#" }), 201);
  expectOk(await stage.client.bind(exchange, { queue: r, bindingKey: "*.b" }), 201);
  return { exchange, q, r };
};

type Bound = Awaited<ReturnType<typeof bound>>;

/** With what everyone is told about the exchange then. */
const onBound = (route: string, how: string, request: (scene: Bound) => Send, isLooked = false): Operation => ({
  route,
  how,
  ...(isLooked && { mayBeLate: "it tells what was there a moment ago" }),
  async setUp(stage) {
    const scene = await bound(stage);
    const { exchange, q, r } = scene;
    return {
      look: { queues: { q, r } },
      send: request(scene),
      tell: (c) => c.listBindings(exchange),
    };
  },
});

const one = "/exchanges/{exchange}";
const bindings = "/exchanges/{exchange}/bindings";
const publish = "POST /exchanges/{exchange}/messages";

/** To three queues: nine runs, ninety deduplication ids and a reservation are more than a transaction takes. */
const MANY = 210;
const DEDUPLICATED = 30;
const many: readonly MessageInput[] = messagesOf(numbered(MANY)).map((message, i) =>
  i < DEDUPLICATED ? { ...message, deduplicationId: `of ${message.body}` } : message,
);

export const exchanges: readonly Operation[] = [
  {
    route: `PUT ${one}`,
    how: "a new one",
    async setUp() {
      const exchange = unique("exchange");
      return {
        look: {},
        send: (c) => c.declareExchange(exchange, { type: "fanout" }),
        tell: (c) => c.listBindings(exchange),
      };
    },
  },
  onBound(
    `GET ${one}`,
    "with bindings",
    ({ exchange }) =>
      (c) =>
        c.getExchange(exchange),
    true,
  ),
  onBound(
    `DELETE ${one}`,
    "with bindings",
    ({ exchange }) =>
      (c) =>
        c.deleteExchange(exchange),
  ),
  onBound(
    `PUT ${bindings}`,
    "a new one",
    ({ exchange, q }) =>
      (c) =>
        c.bind(exchange, { queue: q, bindingKey: "c.d" }),
  ),
  onBound(
    `GET ${bindings}`,
    "of two",
    ({ exchange }) =>
      (c) =>
        c.listBindings(exchange),
    true,
  ),
  onBound(
    `DELETE ${bindings}`,
    "one of two",
    ({ exchange, q }) =>
      (c) =>
        c.unbind(exchange, { queue: q, bindingKey: "a.#" }),
  ),
  {
    route: publish,
    how: "two with large headers to two queues",
    async setUp(stage) {
      const { exchange, q, r } = await bound(stage);
      const headers = { "idempotency-key": unique("key") };
      return {
        look: { queues: { q, r } },
        send: (c) => c.publish(exchange, messagesOf(numbered(2), BYTES), { routingKey: "a.b" }, headers),
      };
    },
  },
  {
    route: publish,
    how: "of more than one transaction takes",
    async setUp(stage) {
      const exchange = unique("exchange");
      const [a, b] = [await queueOf(stage), await queueOf(stage, [["m00"]])];
      // Of its reservation nothing may be left: there would be no room at all.
      const c = await queueOf(stage, [], { maxMessages: MANY });
      expectOk(await stage.client.declareExchange(exchange, { type: "fanout" }), 201);
      for (const queue of [a, b, c]) expectOk(await stage.client.bind(exchange, { queue }), 201);
      const headers = { "idempotency-key": unique("key") };
      return {
        look: { queues: { a, b, c }, isLimited: true },
        send: (client) => client.publish(exchange, many, {}, headers),
      };
    },
  },
  {
    route: publish,
    how: "that reaches no queue",
    async setUp(stage) {
      const { exchange, q, r } = await bound(stage);
      const headers = { "idempotency-key": unique("key") };
      return {
        look: { queues: { q, r } },
        send: (c) => c.publish(exchange, messagesOf(["m01"]), { routingKey: "z" }, headers),
      };
    },
  },
  {
    route: publish,
    how: "in a branch",
    async setUp(stage) {
      const { exchange, q, r } = await bound(stage);
      const { a, b, x, ...session } = await working(stage);
      const headers = { "idempotency-key": unique("key") };
      return {
        look: { queues: { a, b, q, r }, branches: { x } },
        send: (c) =>
          inSession(c, session)
            .within(x)
            .publish(exchange, messagesOf(numbered(2, 6)), { routingKey: "a.b" }, headers),
      };
    },
  },
];
