/** What is done to a whole queue, and what is told about it. */
import { acceptAll, begin, expectOk, take } from "../../support/moves.ts";
import { newXid, unique } from "../../support/names.ts";
import type { Operation } from "../operation.ts";
import { BYTES, inSession, leasedOf, messagesOf, numbered, queueOf } from "./making.ts";

const late = "it tells what was there a moment ago";

const declarations: readonly Operation[] = [
  {
    route: "PUT /queues/{queue}",
    how: "a new one",
    async setUp() {
      const q = unique();
      return { look: { queues: { q } }, send: (c) => c.declare(q, { partitions: 2 }) };
    },
  },
  {
    route: "PUT /queues/{queue}",
    how: "a new one with a limit",
    async setUp() {
      const q = unique();
      return { look: { queues: { q }, isLimited: true }, send: (c) => c.declare(q, { maxMessages: 3 }) };
    },
  },
  {
    route: "PUT /queues/{queue}",
    how: "one that is there",
    async setUp(stage) {
      const q = await queueOf(stage, [["m01"]]);
      return { look: { queues: { q } }, send: (c) => c.declare(q, { leaseSeconds: 50 }) };
    },
  },
  {
    route: "PUT /queues/{queue}",
    how: "one that is there with other settings",
    async setUp(stage) {
      const q = await queueOf(stage, [["m01"]]);
      return { look: { queues: { q } }, send: (c) => c.declare(q, { maxMessages: 3 }) };
    },
  },
  {
    route: "PUT /queues/{queue}",
    how: "after one of its name was deleted",
    async setUp(stage) {
      const q = await queueOf(stage, [["m01"]]);
      expectOk(await stage.client.deleteQueue(q), 204);
      return { look: { queues: { q } }, send: (c) => c.declare(q) };
    },
  },
];

const deletions: readonly Operation[] = [
  {
    route: "DELETE /queues/{queue}",
    how: "an empty one",
    async setUp(stage) {
      const q = await queueOf(stage);
      return { look: { queues: { q }, isSwept: true }, send: (c) => c.deleteQueue(q, { ifEmpty: true }) };
    },
  },
  {
    route: "DELETE /queues/{queue}",
    how: "with messages and a dead-letter queue",
    async setUp(stage) {
      const d = await queueOf(stage);
      const q = await queueOf(stage, [numbered(3), numbered(2, 3)], { deadLetterQueue: d, maxMessages: 9 }, BYTES);
      await leasedOf(stage.client, q, 1);
      return { look: { queues: { q, d }, isSwept: true }, send: (c) => c.deleteQueue(q) };
    },
  },
  {
    route: "DELETE /queues/{queue}",
    how: "that a branch takes from and publishes to",
    async setUp(stage) {
      const q = await queueOf(stage, [numbered(3)]);
      const session = await stage.lastingSession();
      const x = newXid();
      const worker = await begin(inSession(stage.client, session), x, 3600);
      await acceptAll(worker, await take(worker, q, 1));
      expectOk(await worker.enqueue(q, messagesOf(["m09"])), 201);
      return { look: { queues: { q }, branches: { x }, isSwept: true }, send: (c) => c.deleteQueue(q) };
    },
  },
];

const purges: readonly Operation[] = [
  {
    route: "POST /queues/{queue}/purge",
    how: "of two runs",
    isByMessage: true,
    async setUp(stage) {
      const q = await queueOf(stage, [numbered(3), numbered(2, 3)], { maxMessages: 7 }, BYTES);
      await leasedOf(stage.client, q, 1);
      return { look: { queues: { q }, isLimited: true }, send: (c) => c.purge(q) };
    },
  },
];

const redrives: readonly Operation[] = [
  {
    route: "POST /queues/{queue}/redrive",
    how: "of two runs, to a queue with a limit",
    isByMessage: true,
    async setUp(stage) {
      const d = await queueOf(stage);
      const q = await queueOf(stage, [numbered(3), numbered(2, 3)], { deadLetterQueue: d, maxMessages: 9 }, BYTES);
      expectOk(await stage.client.reject((await take(stage.client, q, 5)).map(({ deliveryId }) => deliveryId)));
      return { look: { queues: { q, d } }, send: (c) => c.redrive(d) };
    },
  },
];

const looks: readonly Operation[] = [
  {
    route: "GET /queues",
    how: "of a prefix",
    mayBeLate: late,
    async setUp(stage) {
      const q = await queueOf(stage, [["m01"]]);
      return { look: { queues: { q } }, send: (c) => c.listQueues({ prefix: q }) };
    },
  },
  {
    route: "GET /queues/{queue}",
    how: "with messages",
    async setUp(stage) {
      const q = await queueOf(stage, [numbered(3)], { maxMessages: 5 });
      await leasedOf(stage.client, q, 1);
      return { look: { queues: { q }, isLimited: true }, send: (c) => c.getQueue(q) };
    },
  },
  {
    route: "GET /queues/{queue}/messages",
    how: "of two runs",
    async setUp(stage) {
      const q = await queueOf(stage, [numbered(3), numbered(2, 3)], {}, BYTES);
      await leasedOf(stage.client, q, 1);
      return { look: { queues: { q } }, send: (c) => c.browse(q) };
    },
  },
  {
    route: "GET /store/status",
    how: "of one that has no id yet",
    async setUp(stage) {
      const q = await queueOf(stage, [["m01"]]);
      return { look: { queues: { q } }, send: (c) => c.storeStatus() };
    },
  },
  {
    route: "GET /health",
    how: "",
    setUp: async () => ({ look: {}, send: (c) => c.health() }),
  },
];

export const queues: readonly Operation[] = [...declarations, ...deletions, ...purges, ...redrives, ...looks];
