/** Publishes by an exchange, beside those who bind, unbind, delete and fill. */
import type { Client } from "../../support/client.ts";
import { acceptAll, begin, endAndPrepare, expectOk, take } from "../../support/moves.ts";
import { newXid, unique } from "../../support/names.ts";
import type { QueueSettings } from "../../support/shapes.ts";
import type { Act, Allowed, Outcome, Scenario, Stage } from "../scenario.ts";
import { attached, messages, queueWith } from "../scenes.ts";

interface Bound {
  readonly exchange: string;
  readonly a: string;
  readonly b: string;
}

/** A fanout exchange that a and b are bound to, which every process has published to. */
const bound = async (stage: Stage, settings: QueueSettings = {}, ofB: QueueSettings = settings): Promise<Bound> => {
  const exchange = unique("exchange");
  expectOk(await stage.client.declareExchange(exchange, { type: "fanout" }), 201);
  const [a, b] = [await queueWith(stage, [], settings), await queueWith(stage, [], ofB)];
  for (const queue of [a, b]) expectOk(await stage.client.bind(exchange, { queue }), 201);
  return { exchange, a, b };
};

const publish =
  (exchange: string, body: string): Act =>
  (at) =>
    at.publish(exchange, messages(body));

const beside = (
  name: string,
  operations: (scene: Bound) => Readonly<Record<string, readonly Act[]>>,
  settings: QueueSettings = {},
  also: readonly Allowed[] = [],
): Scenario => ({
  name,
  also,
  async setUp(stage) {
    const scene = await bound(stage, settings);
    const { a, b } = scene;
    return { look: { queues: { a, b }, isLimited: "maxMessages" in settings }, operations: operations(scene) };
  },
});

const eachInItsOrder: Allowed = {
  because: "each queue has an order of its own: of two who publish at the same time, either may be first on each",
  allows: (outcome, serial) => serial.some((one) => withoutOrder(one) === withoutOrder(outcome)),
};

const withoutOrder = ({ told, seen: { counters: _, drained, ...seen } }: Outcome): string => {
  const sorted = drained.map((queues) =>
    Object.fromEntries(Object.entries(queues).map(([queue, bodies]) => [queue, bodies.toSorted()])),
  );
  return JSON.stringify({ told, ...seen, drained: sorted });
};

const deleteQueue =
  (queue: string): Act =>
  (at) =>
    at.deleteQueue(queue);

/** What a commit of one phase adds to the queue b and removes from a. */
const inBranch = async (stage: Stage, exchange: string, a: string): Promise<{ readonly x: string }> => {
  const s = stage.client.with(await attached(stage));
  expectOk(await stage.client.enqueue(a, messages("a1")), 201);
  const x = newXid();
  const worker: Client = await begin(s, x, 3600);
  await acceptAll(worker, await take(worker, a));
  expectOk(await worker.publish(exchange, messages("x1")), 201);
  await endAndPrepare(s, x);
  return { x };
};

export const routing: readonly Scenario[] = [
  beside(
    "publish / publish",
    ({ exchange }) => ({ publish: [publish(exchange, "1")], other: [publish(exchange, "2")] }),
    {},
    [eachInItsOrder],
  ),
  beside(
    "publish / publish, of limited queues with room for one",
    ({ exchange }) => ({ publish: [publish(exchange, "1")], other: [publish(exchange, "2")] }),
    { maxMessages: 1 },
  ),
  beside(
    "publish / enqueue, of a ring with room for one",
    ({ exchange, a }) => ({
      publish: [publish(exchange, "1")],
      enqueue: [(at) => at.enqueue(a, messages("2"))],
    }),
    { maxMessages: 1, overflow: "ring" },
  ),
  beside("publish / publish, of one deduplication id", ({ exchange, a }) => {
    const message = { body: "once", messageId: "once", deduplicationId: "once" };
    return {
      publish: [(at) => at.publish(exchange, [message])],
      enqueue: [(at) => at.enqueue(a, [message])],
    };
  }),
  beside("publish / unbind", ({ exchange, b }) => ({
    publish: [publish(exchange, "1")],
    unbind: [(at) => at.unbind(exchange, { queue: b })],
  })),
  beside("publish / delete exchange", ({ exchange }) => ({
    publish: [publish(exchange, "1")],
    deletion: [(at) => at.deleteExchange(exchange)],
  })),
  beside("publish / delete queue", ({ exchange, b }) => ({
    publish: [publish(exchange, "1")],
    deletion: [deleteQueue(b)],
  })),
  {
    name: "publish / bind",
    async setUp(stage) {
      const { exchange, a, b } = await bound(stage);
      const c = await queueWith(stage);
      return {
        look: { queues: { a, b, c } },
        operations: { publish: [publish(exchange, "1")], bind: [(at) => at.bind(exchange, { queue: c })] },
      };
    },
  },
  {
    name: "bind / delete queue, and a publish",
    async setUp(stage) {
      const { exchange, a, b } = await bound(stage);
      const c = await queueWith(stage);
      return {
        look: { queues: { a, b } },
        operations: {
          bind: [(at) => at.bind(exchange, { queue: c })],
          deletion: [deleteQueue(c), publish(exchange, "1"), (at) => at.listBindings(exchange)],
        },
      };
    },
  },
  {
    name: "bind / delete exchange, and the same declared again",
    async setUp(stage) {
      const { exchange, a, b } = await bound(stage);
      const c = await queueWith(stage);
      return {
        look: { queues: { a, b, c } },
        operations: {
          bind: [(at) => at.bind(exchange, { queue: c })],
          deletion: [
            (at) => at.deleteExchange(exchange),
            (at) => at.declareExchange(exchange, { type: "fanout" }),
            publish(exchange, "1"),
          ],
        },
      };
    },
  },
  {
    name: "declare with an alternate / delete that exchange",
    async setUp() {
      const [exchange, alternate] = [unique("exchange"), unique("exchange")];
      return {
        look: {},
        operations: {
          declare: [
            (at) => at.declareExchange(alternate, { type: "fanout" }),
            (at) => at.declareExchange(exchange, { type: "fanout", alternateExchange: alternate }),
            (at) => at.getExchange(exchange),
          ],
          deletion: [(at) => at.deleteExchange(alternate), (at) => at.getExchange(alternate)],
        },
      };
    },
  },
  {
    name: "publish / commit of a publish, and a removal",
    also: [eachInItsOrder],
    async setUp(stage) {
      const { exchange, a, b } = await bound(stage);
      const { x } = await inBranch(stage, exchange, a);
      return {
        look: { queues: { a, b }, branches: { x } },
        operations: { publish: [publish(exchange, "1")], commit: [(at) => at.commit(x)] },
      };
    },
  },
];
