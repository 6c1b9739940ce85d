import { describe, expect, it } from "vitest";
import type { Client } from "../support/client.ts";
import type { Answer } from "../support/http.ts";
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

const message = (body: string, deduplicationId?: string): MessageInput =>
  deduplicationId === undefined ? { body } : { body, deduplicationId };

/** What an enqueue made of its only message. */
const only = (answer: Answer<Enqueued>): Enqueued["messages"][number] => {
  const [first] = expectOk(answer, 201).messages;
  if (first === undefined) throw new Error("the answer names no message");
  return first;
};

const put = async (from: Client, queue: string, ...messages: MessageInput[]): Promise<Enqueued["messages"][number]> =>
  only(await from.enqueue(queue, messages));

describe("a deduplication id", () => {
  it("met again on the queue is a duplicate: the first one's id and sequence, nothing enqueued", async () => {
    const queue = await newQueue(c);
    const first = await put(c, queue, message("first", "d"));
    expect(first.duplicate).toBe(false);
    const second = await put(c, queue, { ...message("second", "d"), messageId: "other" });
    expect(second).toEqual({ ...first, duplicate: true });
    expect(await bodiesOf(c, queue)).toEqual(["first"]);
    expect(await c.stats(queue)).toMatchObject({ available: "1" });
  });

  it("stays known after the first was consumed, and over a restart", async () => {
    const queue = await newQueue(c);
    const first = await put(c, queue, message("first", "d"));
    await consume(c, queue);
    expect(await put(c, queue, message("second", "d"))).toEqual({ ...first, duplicate: true });
    await service.restart();
    expect(await put(c, queue, message("third", "d"))).toEqual({ ...first, duplicate: true });
    expect(await drain(c, queue)).toEqual([]);
  });

  it("twice in one call is one message; the others keep their order", async () => {
    const queue = await newQueue(c);
    const messages = [message("a", "d"), message("b"), message("c", "d"), message("e", "f"), message("g", "d")];
    const answer = expectOk(await c.enqueue(queue, messages), 201);
    expect(answer.messages.map((each) => each.duplicate)).toEqual([false, false, true, false, true]);
    expect(answer.messages[2]).toEqual({ ...answer.messages[0], duplicate: true });
    expect(answer.messages[4]).toEqual({ ...answer.messages[0], duplicate: true });
    expect(await bodiesOf(c, queue)).toEqual(["a", "b", "e"]);
  });

  it("known beside new ones: the new ones go in, in order", async () => {
    const queue = await newQueue(c);
    const first = await put(c, queue, message("a", "known"));
    const messages = [message("b"), message("c", "known"), message("d", "new")];
    const answer = expectOk(await c.enqueue(queue, messages), 201);
    expect(answer.messages.map((each) => each.duplicate)).toEqual([false, true, false]);
    expect(answer.messages[1]).toEqual({ ...first, duplicate: true });
    expect(await bodiesOf(c, queue)).toEqual(["a", "b", "d"]);
  });

  it("belongs to its queue: on another one it is new, and on one declared again too", async () => {
    const [one, two] = [await newQueue(c), await newQueue(c)];
    expect((await put(c, one, message("a", "d"))).duplicate).toBe(false);
    expect((await put(c, two, message("b", "d"))).duplicate).toBe(false);
    await c.deleteQueue(one);
    await c.declare(one);
    expect((await put(c, one, message("c", "d"))).duplicate).toBe(false);
    expect(await bodiesOf(c, one)).toEqual(["c"]);
  });

  it("differs by every character", async () => {
    const queue = await newQueue(c);
    const ids = ["d", "D", "d ", " d", "d#", "é", "e\u0301", "__proto__", "\0", "x".repeat(255)];
    const answer = expectOk(
      await c.enqueue(
        queue,
        ids.map((id) => message(id, id)),
      ),
      201,
    );
    expect(answer.messages.map((each) => each.duplicate)).toEqual(ids.map(() => false));
    expect(await bodiesOf(c, queue)).toEqual(ids);
  });

  it("of a refused call is not used up", async () => {
    const queue = await newQueue(c, ["full"], { maxMessages: 1 });
    expectRefused(await c.enqueue(queue, [message("a", "d")]), "resource-limit-exceeded");
    await consume(c, queue);
    expect((await put(c, queue, message("a", "d"))).duplicate).toBe(false);
    expect(await put(c, queue, message("b", "d")), "a duplicate needs no room").toMatchObject({ duplicate: true });
  });

  it("by many calls at once: one is the first, the others name it", async () => {
    const queue = await newQueue(c);
    const answers = await Promise.all(Array.from({ length: 15 }, (_, i) => put(c, queue, message(`${i}`, "d"))));
    const firsts = answers.filter((answer) => !answer.duplicate);
    expect(firsts).toHaveLength(1);
    for (const answer of answers) expect({ ...answer, duplicate: false }).toEqual(firsts[0]);
    expect(await availableOn(c, queue)).toEqual([1]);
  });

  it("calls at once that share some ids enqueue each id once", async () => {
    const queue = await newQueue(c);
    const call = (first: number) => Array.from({ length: 10 }, (_, i) => message(`${first + i}`, `d-${first + i}`));
    await Promise.all([0, 3, 6, 9, 2].map(async (first) => expectOk(await c.enqueue(queue, call(first)), 201)));
    const bodies = await bodiesOf(c, queue);
    expect(bodies.toSorted((a, b) => Number(a) - Number(b))).toEqual(Array.from({ length: 19 }, (_, i) => `${i}`));
  });

  it("90 in a call are allowed, 91 are not, messages without one beside them do not count", async () => {
    const queue = await newQueue(c);
    const many = (count: number) => Array.from({ length: count }, (_, i) => message(`${i}`, unique("d")));
    const refused = await c.enqueue(queue, many(91));
    expectRefused(refused, "invalid-argument");
    expect(refused.problem?.errors).toEqual([
      { path: "messages", message: "must have at most 90 deduplication ids × queues" },
    ]);
    expect(await availableOn(c, queue)).toEqual([0]);
    const rest = Array.from({ length: 410 }, (_, i) => message(`rest ${i}`));
    expectOk(await c.enqueue(queue, [...many(90), ...rest]), 201);
    expect(await availableOn(c, queue)).toEqual([500]);
  });
});

describe("in a branch", () => {
  it("a known id is a duplicate, an unknown one belongs to the branch and is known after commit", async () => {
    const s = await newSession(c);
    const queue = await newQueue(c);
    const first = await put(c, queue, message("first", "known"));
    const xid = newXid();
    const branch = await begin(s, xid);
    expect(await put(branch, queue, message("again", "known"))).toEqual({ ...first, duplicate: true });
    const added = await put(branch, queue, message("new", "unknown"));
    expect(added).toEqual({ messageId: added.messageId, queues: [{ queue }], duplicate: false });
    await endAndPrepare(s, xid);
    expectXa(await s.commit(xid), "XA_OK");
    expect(await bodiesOf(c, queue)).toEqual(["first", "new"]);
    const [, delivered] = await drain(c, queue);
    const after = await put(c, queue, message("late", "unknown"));
    expect(after).toEqual({
      messageId: added.messageId,
      queues: [{ queue, sequence: delivered?.sequence }],
      duplicate: true,
    });
  });

  it("a rollback gives the id back", async () => {
    const s = await newSession(c);
    const queue = await newQueue(c);
    const xid = newXid();
    await put(await begin(s, xid), queue, message("undone", "d"));
    await endAndPrepare(s, xid);
    expectXa(await s.rollback(xid), "XA_OK");
    expect((await put(c, queue, message("done", "d"))).duplicate).toBe(false);
    expect(await bodiesOf(c, queue)).toEqual(["done"]);
  });

  it("twice in the branch, or in two branches, or taken meanwhile outside: one copy in the end", async () => {
    const s = await newSession(c);
    const queue = await newQueue(c);
    const [x1, x2] = [newXid(), newXid()];
    const [b1, b2] = [await begin(s, x1), await begin(s, x2)];
    await put(b1, queue, message("x1", "d"));
    await put(b1, queue, message("x1 again", "d"));
    await put(b2, queue, message("x2", "d"));
    await put(b1, queue, message("outside was first", "e"));
    await put(c, queue, message("outside", "e"));
    await put(b2, queue, message("x2 other"));
    await endAndPrepare(s, x1);
    await endAndPrepare(s, x2);
    expectXa(await s.commit(x2), "XA_OK");
    expectXa(await s.commit(x1), "XA_OK");
    expect(await bodiesOf(c, queue)).toEqual(["outside", "x2", "x2 other"]);
    expect(await c.stats(queue)).toMatchObject({ available: "3", leased: "0", held: "0" });
  });

  it("a copy dropped at commit gives its room back", async () => {
    const s = await newSession(c);
    const queue = await newQueue(c, [], { maxMessages: 2 });
    const xid = newXid();
    await put(await begin(s, xid), queue, message("late", "d"));
    await endAndPrepare(s, xid);
    await put(c, queue, message("outside", "d"));
    expectXa(await s.commit(xid), "XA_OK");
    expect(await bodiesOf(c, queue)).toEqual(["outside"]);
    await put(c, queue, message("more"));
    expectRefused(await c.enqueue(queue, [message("too many")]), "resource-limit-exceeded");
  });
});
