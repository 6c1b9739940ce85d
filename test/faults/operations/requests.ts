/** Requests of a session that may be stored as commands, one or two of each kind. */

import type { Look } from "../../interleavings/look.ts";
import type { InSession, Stage } from "../../interleavings/scenario.ts";
import type { Client } from "../../support/client.ts";
import type { Answer } from "../../support/http.ts";
import { expectOk } from "../../support/moves.ts";
import { unique } from "../../support/names.ts";
import type { MessageInput, QueueSettings } from "../../support/shapes.ts";
import type { Operation, Send } from "../operation.ts";
import { BYTES, leasedOf, messagesOf, numbered, queueOf } from "./making.ts";

/** What is asked, by a client in the session, which says whether at once or later. */
export interface Requested {
  readonly look: Look;
  readonly send: (client: Client) => Promise<Answer<unknown>>;
  readonly tell?: Send;
}

export interface Request extends Pick<Operation, "route" | "how" | "isByMessage" | "isLarge" | "mayLose"> {
  readonly make: (stage: Stage, session: InSession) => Promise<Requested>;
}

/** A request is sent again under its key. */
const keyed = () => ({ "idempotency-key": unique("key") });

const enqueues = (
  how: string,
  input: readonly MessageInput[],
  settings: QueueSettings = {},
  stand: readonly string[] = ["m00"],
): Request => ({
  route: "POST /queues/{queue}/messages",
  how,
  async make(stage) {
    const q = await queueOf(stage, [stand], settings);
    const headers = keyed();
    return {
      look: { queues: { q }, isLimited: settings.maxMessages !== undefined },
      send: (c) => c.enqueue(q, input, headers),
    };
  },
});

const enqueueing: readonly Request[] = [
  enqueues("one", messagesOf(["m01"])),
  enqueues("ten with large headers", messagesOf(numbered(10), BYTES)),
  enqueues("to a limited queue", messagesOf(numbered(2)), { maxMessages: 4 }),
  enqueues("more than a limited queue takes", messagesOf(numbered(4)), { maxMessages: 4 }),
  enqueues(
    "with deduplication ids",
    messagesOf(numbered(2)).map((message) => ({ ...message, deduplicationId: `of ${message.body}` })),
  ),
];

/** A fanout exchange with these queues, one of each settings. */
const fanout = async (stage: Stage, all: readonly QueueSettings[], stand: readonly string[] = []) => {
  const exchange = unique("exchange");
  expectOk(await stage.client.declareExchange(exchange, { type: "fanout" }), 201);
  const queues: string[] = [];
  for (const settings of all) {
    const queue = await queueOf(stage, stand.length === 0 ? [] : [stand], settings);
    expectOk(await stage.client.bind(exchange, { queue }), 201);
    queues.push(queue);
  }
  const [q = "", r = "", t = ""] = queues;
  return { exchange, queues: { q, r, ...(t !== "" && { t }) } };
};

const publishes = (
  how: string,
  input: readonly MessageInput[],
  all: readonly QueueSettings[],
  more: Pick<Operation, "isLarge" | "mayLose"> = {},
): Request => ({
  route: "POST /exchanges/{exchange}/messages",
  how,
  ...more,
  async make(stage) {
    const { exchange, queues } = await fanout(stage, all);
    const headers = keyed();
    return { look: { queues }, send: (c) => c.publish(exchange, input, {}, headers) };
  },
});

/** To three queues: nine runs and ninety deduplication ids are more than a transaction takes. */
const MANY = 210;
const DEDUPLICATED = 30;
const many: readonly MessageInput[] = messagesOf(numbered(MANY)).map((message, i) =>
  i < DEDUPLICATED ? { ...message, deduplicationId: `of ${message.body}` } : message,
);

const publishing: readonly Request[] = [
  publishes("to two queues", messagesOf(["m01"]), [{}, {}]),
  publishes("to one queue that stores it and one that need not", messagesOf(["m01"]), [
    { messageDurability: "always" },
    { messageDurability: "never" },
  ]),
  publishes("more than one transaction takes", many, [{}, {}, { maxMessages: 400 }], { isLarge: true }),
  {
    route: "POST /exchanges/{exchange}/messages",
    how: "that reaches no queue and must",
    async make({ client }) {
      const exchange = unique("exchange");
      expectOk(await client.declareExchange(exchange, { type: "direct" }), 201);
      const headers = keyed();
      return { look: {}, send: (c) => c.publish(exchange, messagesOf(["m01"]), { mandatory: true }, headers) };
    },
  },
];

const settles = (
  verb: "accept" | "release" | "reject",
  how: string,
  /** Of m01 to m03 in one run and m04, m05 in another, of each queue. */
  counts: readonly number[],
  settings: QueueSettings = {},
  bytes = 0,
): Request => ({
  route: `POST /deliveries/${verb}`,
  how,
  isByMessage: true,
  async make(stage) {
    const d = await queueOf(stage);
    const queues: Record<string, string> = { d };
    const ids: string[] = [];
    for (const [i, count] of counts.entries()) {
      const q = await queueOf(
        stage,
        [numbered(3, 10 * i), numbered(2, 10 * i + 3)],
        { ...settings, ...(verb === "reject" && { deadLetterQueue: d }) },
        bytes,
      );
      ids.push(...(await leasedOf(stage.client, q, count)));
      queues[`q${i}`] = q;
    }
    return {
      look: { queues, isLimited: settings.maxMessages !== undefined },
      send: (c) => c[verb](ids),
    };
  },
});

const settling: readonly Request[] = [
  settles("accept", "one", [1]),
  settles("accept", "of four runs of two queues", [5, 4], { maxMessages: 6 }, BYTES),
  settles("release", "of two runs", [4]),
  settles("reject", "of two runs to a dead-letter queue", [4], {}, BYTES),
];

const onQueues: readonly Request[] = [
  {
    route: "PUT /queues/{queue}",
    how: "a new one",
    async make() {
      const q = unique();
      return { look: { queues: { q } }, send: (c) => c.declare(q, { leaseSeconds: 7 }) };
    },
  },
  {
    route: "PUT /queues/{queue}",
    how: "with other settings",
    async make(stage) {
      const q = await queueOf(stage, [["m00"]]);
      return { look: { queues: { q } }, send: (c) => c.declare(q, { leaseSeconds: 7 }) };
    },
  },
  {
    route: "DELETE /queues/{queue}",
    how: "with messages, bound, to its dead-letter queue",
    async make(stage) {
      const exchange = unique("exchange");
      const d = await queueOf(stage);
      const q = await queueOf(stage, [numbered(2)], { deadLetterQueue: d });
      expectOk(await stage.client.declareExchange(exchange, { type: "fanout" }), 201);
      expectOk(await stage.client.bind(exchange, { queue: q }), 201);
      return {
        look: { queues: { q, d }, isSwept: true },
        send: (c) => c.deleteQueue(q),
        tell: (c) => c.listBindings(exchange),
      };
    },
  },
];

/** An exchange with a queue that is bound to it, and another one. */
const bound = async (stage: Stage) => {
  const { exchange, queues } = await fanout(stage, [{}, {}]);
  return { exchange, look: { queues }, q: queues.q, tell: ((c) => c.listBindings(exchange)) satisfies Send };
};

const onExchanges: readonly Request[] = [
  {
    route: "PUT /exchanges/{exchange}",
    how: "a new one",
    async make() {
      const exchange = unique("exchange");
      return {
        look: {},
        send: (c) => c.declareExchange(exchange, { type: "fanout" }),
        tell: (c) => c.getExchange(exchange),
      };
    },
  },
  {
    route: "DELETE /exchanges/{exchange}",
    how: "with bindings",
    async make(stage) {
      const { exchange, look, tell } = await bound(stage);
      return { look, tell, send: (c) => c.deleteExchange(exchange) };
    },
  },
  {
    route: "PUT /exchanges/{exchange}/bindings",
    how: "a new one",
    async make(stage) {
      const { exchange, look, tell, q } = await bound(stage);
      return { look, tell, send: (c) => c.bind(exchange, { queue: q, arguments: { a: 1 } }) };
    },
  },
  {
    route: "DELETE /exchanges/{exchange}/bindings",
    how: "one of two",
    async make(stage) {
      const { exchange, look, tell, q } = await bound(stage);
      return { look, tell, send: (c) => c.unbind(exchange, { queue: q }) };
    },
  },
];

export const requests: readonly Request[] = [...enqueueing, ...publishing, ...settling, ...onQueues, ...onExchanges];
