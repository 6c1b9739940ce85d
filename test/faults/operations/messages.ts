/** Messages put on a queue and taken from it. */
import type { Stage } from "../../interleavings/scenario.ts";
import type { Client } from "../../support/client.ts";
import { begin, expectOk } from "../../support/moves.ts";
import { newXid, unique } from "../../support/names.ts";
import type { MessageInput, QueueSettings } from "../../support/shapes.ts";
import type { Operation } from "../operation.ts";
import { BYTES, inSession, messagesOf, numbered, queueOf, working } from "./making.ts";

const enqueue = "POST /queues/{queue}/messages";
const acquire = "POST /queues/{queue}/deliveries";

/** Enqueued under a key, to a queue where m00 stands. */
const enqueues = (
  how: string,
  input: readonly MessageInput[],
  settings: QueueSettings = {},
  stand: readonly string[] = ["m00"],
): Operation => ({
  route: enqueue,
  how,
  async setUp(stage) {
    const q = await queueOf(stage, [stand], settings);
    const headers = { "idempotency-key": unique("key") };
    return {
      look: { queues: { q }, isLimited: settings.maxMessages !== undefined },
      send: (c) => c.enqueue(q, input, headers),
    };
  },
});

const inBranch = (
  how: string,
  input: readonly MessageInput[],
  prepare: (worker: Client, q: string) => Promise<void> = async () => {},
): Operation => ({
  route: enqueue,
  how: `in a branch, ${how}`,
  async setUp(stage) {
    const { a, b, x, ...session } = await working(stage);
    const worker = inSession(stage.client, session).within(x);
    await prepare(worker, b);
    const headers = { "idempotency-key": unique("key") };
    return {
      look: { queues: { a, b }, branches: { x } },
      send: (c) => inSession(c, session).within(x).enqueue(b, input, headers),
    };
  },
});

/** Operations that fill the branch's own record almost. */
const fill = async (worker: Client, q: string): Promise<void> => {
  for (const [i, body] of numbered(24, 40).entries()) {
    const input = messagesOf([body]).map((message) => ({ ...message, messageId: `${body}-${"i".repeat(70)}-${i}` }));
    expectOk(await worker.enqueue(q, input), 201);
  }
};

const deduplicated = (bodies: readonly string[]): readonly MessageInput[] =>
  messagesOf(bodies).map((message) => ({ ...message, deduplicationId: `of ${message.body}` }));

const enqueueing: readonly Operation[] = [
  enqueues("one", messagesOf(["m01"])),
  enqueues("ten", messagesOf(numbered(10))),
  enqueues("ten with large headers", messagesOf(numbered(10), BYTES)),
  enqueues("two runs", messagesOf(numbered(150))),
  enqueues("to a limited queue", messagesOf(numbered(2)), { maxMessages: 4 }),
  enqueues("more than a limited queue takes", messagesOf(numbered(4)), { maxMessages: 4 }),
  enqueues("to a full ring", messagesOf(numbered(2, 2), BYTES), { maxMessages: 3, overflow: "ring" }, numbered(3)),
  enqueues("with deduplication ids", deduplicated(numbered(3)), {}),
  {
    route: enqueue,
    how: "with a deduplication id that is known, without a key",
    async setUp(stage) {
      const q = await queueOf(stage);
      expectOk(await stage.client.enqueue(q, deduplicated(["m01"])), 201);
      return { look: { queues: { q } }, send: (c) => c.enqueue(q, deduplicated(numbered(2))) };
    },
  },
  {
    route: enqueue,
    how: "in a session",
    async setUp(stage) {
      const q = await queueOf(stage, [], { partitions: 3 });
      const session = await stage.lastingSession();
      const headers = { "idempotency-key": unique("key") };
      return {
        look: { queues: { q } },
        send: (c) => inSession(c, session).enqueue(q, messagesOf(numbered(2)), headers),
      };
    },
  },
  inBranch("one", messagesOf(["m07"])),
  inBranch("ten with large headers", messagesOf(numbered(10, 10), BYTES)),
  inBranch("with deduplication ids", deduplicated(numbered(2, 6))),
  inBranch("when its record is full", messagesOf(numbered(2, 70)), fill),
];

/** Of two runs of two, all four under a lease. */
const acquires = (
  how: string,
  settings: QueueSettings,
  take: Parameters<Client["acquire"]>[1],
  bytes = 0,
  contextOf: (stage: Stage) => Promise<(c: Client) => Client> = async () => (c) => c,
  waitMs = 0,
): Operation => ({
  route: acquire,
  how,
  isByMessage: true,
  async setUp(stage) {
    const d = await queueOf(stage);
    const q = await queueOf(
      stage,
      [numbered(2), numbered(2, 2)],
      { ...settings, ...(settings.deadLetterQueue !== undefined && { deadLetterQueue: d }) },
      bytes,
    );
    const inContext = await contextOf(stage);
    stage.wait(waitMs);
    return { look: { queues: { q, d } }, send: (c) => inContext(c).acquire(q, take) };
  },
});

/** Whatever its name is: the scene's own. */
const dead = { deadLetterQueue: "d" };

const acquiring: readonly Operation[] = [
  acquires("one", {}, { maxMessages: 1 }),
  acquires("of two runs", {}, { maxMessages: 4 }, BYTES),
  acquires("of an empty queue", { messageTtlSeconds: 10 }, { maxMessages: 4 }, 0, undefined, 11_000),
  acquires("removing one of a run", {}, { maxMessages: 1, settle: "none" }),
  acquires("removing two runs", {}, { maxMessages: 4, settle: "none" }, BYTES),
  acquires("when the time of all has ended", { messageTtlSeconds: 10, ...dead }, {}, BYTES, undefined, 11_000),
  acquires("past their retention", { retentionSeconds: 3600 }, { maxMessages: 4 }, BYTES),
  acquires("in a session", {}, { maxMessages: 3 }, 0, async (stage) => {
    const session = await stage.lastingSession();
    return (c) => inSession(c, session);
  }),
  acquires("in a branch", {}, { maxMessages: 3 }, 0, async (stage) => {
    const session = await stage.lastingSession();
    const x = newXid();
    await begin(inSession(stage.client, session), x, 3600);
    return (c) => inSession(c, session).within(x);
  }),
];

export const messages: readonly Operation[] = [...enqueueing, ...acquiring];
