import { describe, expect, it } from "vitest";
import type { Client } from "../support/client.ts";
import {
  availableOn,
  begin,
  bodiesOf,
  consume,
  drain,
  endAndPrepare,
  expectOk,
  expectRefused,
  expectXa,
  newQueue,
  newSession,
} from "../support/moves.ts";
import { newXid, unique } from "../support/names.ts";
import { useService } from "../support/service.ts";
import type { Enqueued, MessageInput } from "../support/shapes.ts";

const service = useService();
const c = service.client;

const keyed = (key: string): Record<string, string> => ({ "idempotency-key": key });

const numbered = (count: number): MessageInput[] => Array.from({ length: count }, (_, i) => ({ body: `m-${i}` }));

/** Enqueues under a key and answers what the call answered. */
const put = async (from: Client, queue: string, key: string, messages: readonly MessageInput[]): Promise<Enqueued> =>
  expectOk(await from.enqueue(queue, messages, keyed(key)), 201);

describe("the same key with the same request", () => {
  it("SC-10: a command sent again after a lost answer is not enqueued twice", async () => {
    const queue = await newQueue(c);
    const key = unique("key");
    const lost = new AbortController();
    const sent = c.call("POST", `/queues/${queue}/messages`, {
      body: { messages: [{ body: "once" }] },
      headers: keyed(key),
      signal: lost.signal,
    });
    setTimeout(() => lost.abort(), 3);
    await sent.catch(() => {});
    const answer = await put(c, queue, key, [{ body: "once" }]);
    expect(await bodiesOf(c, queue)).toEqual(["once"]);
    const [delivered] = await drain(c, queue);
    expect(answer.messages).toMatchObject([
      { messageId: delivered?.messageId, queues: [{ queue, sequence: delivered?.sequence }] },
    ]);
  });

  it("answers what the first answered, ids and sequences, and enqueues nothing", async () => {
    const queue = await newQueue(c);
    const first = await put(c, queue, "answers-first", numbered(3));
    for (let i = 0; i < 3; i += 1) expect(await put(c, queue, "answers-first", numbered(3))).toEqual(first);
    expect(await bodiesOf(c, queue)).toEqual(["m-0", "m-1", "m-2"]);
    expect(await c.stats(queue)).toMatchObject({ enqueued: "3" });
  });

  it("also of 500 messages, with ids of their own", async () => {
    const queue = await newQueue(c);
    const messages = numbered(500).map((message, i) => ({
      ...message,
      messageId: unique(`m-${i}-${"x".repeat(100)}`),
    }));
    const first = await put(c, queue, "five-hundred", messages);
    expect(await put(c, queue, "five-hundred", messages)).toEqual(first);
    expect(await availableOn(c, queue)).toEqual([500]);
  });

  it("also of large bodies and of duplicates", async () => {
    const queue = await newQueue(c);
    const messages = [
      { body: "x".repeat(600_000) },
      { body: "a", deduplicationId: "d" },
      { body: "b", deduplicationId: "d" },
    ];
    const first = await put(c, queue, "large", messages);
    expect(first.messages.map((message) => message.duplicate)).toEqual([false, false, true]);
    expect(await put(c, queue, "large", messages)).toEqual(first);
    expect(await availableOn(c, queue)).toEqual([2]);
  });

  it("after the messages were consumed, and over a restart", async () => {
    const queue = await newQueue(c);
    const key = unique("key");
    const first = await put(c, queue, key, numbered(2));
    await consume(c, queue, 2);
    expect(await put(c, queue, key, numbered(2))).toEqual(first);
    await service.restart();
    expect(await put(c, queue, key, numbered(2))).toEqual(first);
    expect(await drain(c, queue)).toEqual([]);
  });

  it("after the queue is full, and after it is deleted", async () => {
    const queue = await newQueue(c, [], { maxMessages: 2 });
    const first = await put(c, queue, "full-later", numbered(2));
    expectRefused(await c.enqueue(queue, numbered(1)), "resource-limit-exceeded");
    expect(await put(c, queue, "full-later", numbered(2))).toEqual(first);
    await c.deleteQueue(queue);
    expect(await put(c, queue, "full-later", numbered(2))).toEqual(first);
    await c.declare(queue);
    expect(await put(c, queue, "full-later", numbered(2))).toEqual(first);
    expect(await availableOn(c, queue)).toEqual([0]);
  });

  it("by many at once enqueues once and tells all the same", async () => {
    const queue = await newQueue(c);
    const answers = await Promise.all(Array.from({ length: 12 }, () => put(c, queue, "twins", numbered(3))));
    for (const answer of answers) expect(answer).toEqual(answers[0]);
    expect(await bodiesOf(c, queue)).toEqual(["m-0", "m-1", "m-2"]);
  });

  it("by many at once on a queue with one place left", async () => {
    const queue = await newQueue(c, [], { maxMessages: 1 });
    const answers = await Promise.all(Array.from({ length: 6 }, () => put(c, queue, "last-place", numbered(1))));
    for (const answer of answers) expect(answer).toEqual(answers[0]);
    expect(await availableOn(c, queue)).toEqual([1]);
  });

  it("of a refused request leaves the key free for the request that can be done", async () => {
    const queue = unique();
    expectRefused(await c.enqueue(queue, numbered(1), keyed(`free-${queue}`)), "not-found");
    await c.declare(queue, { maxMessages: 1 });
    const first = await put(c, queue, `free-${queue}`, numbered(1));
    expectRefused(await c.enqueue(queue, numbered(1), keyed(`full-${queue}`)), "resource-limit-exceeded");
    await consume(c, queue);
    await put(c, queue, `full-${queue}`, numbered(1));
    expect(await put(c, queue, `free-${queue}`, numbered(1))).toEqual(first);
  });

  it("without a key every request is another one", async () => {
    const queue = await newQueue(c);
    await c.enqueue(queue, numbered(1));
    await c.enqueue(queue, numbered(1));
    await put(c, queue, unique("one"), numbered(1));
    await put(c, queue, unique("two"), numbered(1));
    expect(await availableOn(c, queue)).toEqual([4]);
  });

  it("takes any visible ASCII up to 255 characters, and tells keys apart by each", async () => {
    const queue = await newQueue(c);
    const visible = Array.from({ length: 94 }, (_, i) => String.fromCharCode(0x21 + i)).join("");
    const keys = [visible, "x".repeat(255), "x".repeat(254), "X".repeat(254), "a#b", "a%23b", "__proto__"];
    for (const key of keys) await put(c, queue, key, [{ body: key }]);
    for (const key of keys) await put(c, queue, key, [{ body: key }]);
    expect(await bodiesOf(c, queue)).toEqual(keys);
  });
});

describe("the same key with another request is 422, and writes nothing", () => {
  it("another body, another queue, a session, another session, an xid", async () => {
    const [queue, other] = [await newQueue(c), await newQueue(c)];
    const [s1, s2] = [await newSession(c), await newSession(c)];
    const xid = newXid();
    const branch = await begin(s1, xid);
    const key = unique("key");
    const first = await put(s1, queue, key, numbered(1));
    const reused = [
      await s1.enqueue(queue, numbered(2), keyed(key)),
      await s1.enqueue(queue, [{ body: "other" }], keyed(key)),
      await s1.enqueue(queue, [{ body: "m-0", priority: 1 }], keyed(key)),
      await s1.enqueue(other, numbered(1), keyed(key)),
      await s2.enqueue(queue, numbered(1), keyed(key)),
      await c.enqueue(queue, numbered(1), keyed(key)),
      await branch.enqueue(queue, numbered(1), keyed(key)),
    ];
    for (const answer of reused) {
      expect(answer.status).toBe(422);
      expectRefused(answer, "idempotency-key-reused");
    }
    expect(await availableOn(c, queue, other)).toEqual([1, 0]);
    expect(await put(s1, queue, key, numbered(1))).toEqual(first);
    expectXa(await s1.end(xid), "XA_OK");
    expectXa(await s1.commit(xid, { onePhase: true }), "XA_OK");
    expect(await availableOn(c, queue)).toEqual([1]);
  });

  it("another request at the same moment: one is done, the other told", async () => {
    const queue = await newQueue(c);
    const key = unique("key");
    const answers = await Promise.all(["a", "b", "d", "e"].map((body) => c.enqueue(queue, [{ body }], keyed(key))));
    expect(answers.map((answer) => answer.status).sort()).toEqual([201, 422, 422, 422]);
    expect(await availableOn(c, queue)).toEqual([1]);
  });

  it("the session's epoch is no part of the request: after a resume the answer is the same", async () => {
    const queue = await newQueue(c);
    const s = await newSession(c);
    const key = unique("key");
    const first = await put(s, queue, key, numbered(2));
    const resumed = await c.attached(s.context.session ?? "");
    expect(await put(resumed, queue, key, numbered(2))).toEqual(first);
    expect(await availableOn(c, queue)).toEqual([2]);
  });
});

describe("in a branch", () => {
  it("the same request puts its messages on the branch once", async () => {
    const queue = await newQueue(c);
    const s = await newSession(c);
    const xid = newXid();
    const branch = await begin(s, xid);
    const key = unique("key");
    const first = await put(branch, queue, key, numbered(3));
    expect(first.completed).toBe(false);
    expect(await put(branch, queue, key, numbered(3))).toEqual(first);
    await endAndPrepare(s, xid);
    expect(await put(branch, queue, key, numbered(3)), "prepared").toEqual(first);
    expectXa(await s.commit(xid), "XA_OK");
    expect(await put(branch, queue, key, numbered(3)), "committed").toEqual(first);
    const delivered = await drain(c, queue);
    expect(delivered.map((delivery) => delivery.messageId)).toEqual(first.messages.map((each) => each.messageId));
  });

  it("by many at once, once", async () => {
    const queue = await newQueue(c);
    const s = await newSession(c);
    const xid = newXid();
    const branch = await begin(s, xid);
    const key = unique("key");
    const answers = await Promise.all(Array.from({ length: 8 }, () => put(branch, queue, key, numbered(2))));
    for (const answer of answers) expect(answer).toEqual(answers[0]);
    expectXa(await s.end(xid), "XA_OK");
    expectXa(await s.commit(xid, { onePhase: true }), "XA_OK");
    expect(await bodiesOf(c, queue)).toEqual(["m-0", "m-1"]);
  });

  it("in another branch it is another request", async () => {
    const queue = await newQueue(c);
    const s = await newSession(c);
    const [b1, b2] = [await begin(s, newXid()), await begin(s, newXid())];
    const key = unique("key");
    await put(b1, queue, key, numbered(1));
    expectRefused(await b2.enqueue(queue, numbered(1), keyed(key)), "idempotency-key-reused");
  });
});
