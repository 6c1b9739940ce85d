import { describe, expect, test } from "vitest";
import { type InProcess, useInProcessService } from "../support/in-process.ts";
import { bodiesOf, expectOk, newQueue, newSession } from "../support/moves.ts";
import { unique } from "../support/names.ts";
import type { Enqueued, MessageInput, QueueSettings } from "../support/shapes.ts";

const service = useInProcessService();

const fresh = async (): Promise<InProcess> => {
  const one = await service.process("one");
  await one.restart();
  return one;
};

const transient = (body: string, deduplicationId?: string): MessageInput => ({
  body,
  deliveryMode: "transient",
  ...(deduplicationId !== undefined && { deduplicationId }),
});
const persistent = (body: string, deduplicationId: string): MessageInput => ({ body, deduplicationId });

const duplicatesOf = (answer: Enqueued): readonly boolean[] => answer.messages.map(({ duplicate }) => duplicate);

/** What an enqueue answers of a message that stands first on its queue, and is met again. */
const again = (first: Enqueued["messages"][number] | undefined, queue: string, sequence = "0") => ({
  messageId: first?.messageId,
  queues: [{ queue, sequence }],
  duplicate: true,
});

/** Answers how often the process sends to the command queue meanwhile. */
const sendsWhile = async (one: InProcess, work: () => Promise<unknown>): Promise<number> => {
  let sends = 0;
  one.onCall = (call, next) => {
    if (call.operation === "SendMessageBatch") sends += 1;
    return next();
  };
  await work();
  one.onCall = undefined;
  return sends;
};

describe("a deduplication id of what need not be persisted", () => {
  for (const [what, settings, message] of [
    ["a persistent message on a `never` queue", { messageDurability: "never" }, persistent],
    ["a transient message", {}, transient],
  ] as readonly (readonly [string, QueueSettings, (body: string, id: string) => MessageInput])[]) {
    test(`${what}, met again, is a duplicate: the first one's id and sequence, and nothing is handed on`, async () => {
      const one = await fresh();
      const c = one.client;
      const queue = await newQueue(c, [], settings);
      const first = expectOk(await c.enqueue(queue, [message("t1", "z")]), 202).messages[0];
      expect(first).toEqual({ messageId: first?.messageId, queues: [{ queue }], duplicate: false });
      await one.runWorker();
      const sends = await sendsWhile(one, async () => {
        const second = await c.enqueue(queue, [message("t2", "z")]);
        expect(expectOk(second, 202)).toEqual({ messages: [again(first, queue)], completed: true });
        expect(second.receipt.wru, "writes nothing").toBe(0);
      });
      expect(sends).toBe(0);
      await one.runWorker();
      expect(await bodiesOf(c, queue)).toEqual(["t1"]);
    });
  }

  test("is not looked for where a message has none", async () => {
    const one = await fresh();
    const queue = await newQueue(one.client);
    expectOk(await one.client.enqueue(queue, [transient("t0")]), 202);
    const without = await one.client.enqueue(queue, [transient("t1")]);
    const withOne = await one.client.enqueue(queue, [transient("t2", "z")]);
    expect(withOne.receipt.rru).toBeGreaterThan(without.receipt.rru);
  });

  test("known beside new ones: the new ones are handed on", async () => {
    const one = await fresh();
    const queue = await newQueue(one.client);
    const first = expectOk(await one.client.enqueue(queue, [transient("a", "z")]), 202).messages[0];
    await one.runWorker();
    const sent = [transient("b", "z"), transient("c"), transient("d", "y"), transient("e", "y")];
    const answer = expectOk(await one.client.enqueue(queue, sent), 202);
    expect(answer.messages[0]).toEqual(again(first, queue));
    expect(duplicatesOf(answer)).toEqual([true, false, false, true]);
    expect(answer.messages[3]).toEqual({ ...answer.messages[2], duplicate: true });
    await one.runWorker();
    expect(await bodiesOf(one.client, queue)).toEqual(["a", "c", "d"]);
  });

  test("of a fan-out that stores one copy and hands on the other is a duplicate when both queues have the first", async () => {
    const one = await fresh();
    const c = one.client;
    const exchange = unique("exchange");
    expectOk(await c.declareExchange(exchange, { type: "fanout" }), 201);
    const queues = [await newQueue(c), await newQueue(c, [], { messageDurability: "never" })];
    for (const queue of queues) expectOk(await c.bind(exchange, { queue }), 201);
    const first = expectOk(await c.publish(exchange, [{ ...persistent("d1", "z"), messageId: "d1" }]), 201);
    expect(duplicatesOf(first)).toEqual([false]);
    await one.runWorker();
    const second = expectOk(await c.publish(exchange, [{ ...persistent("d2", "z"), messageId: "d2" }]), 201);
    const [told] = second.messages;
    expect(told).toMatchObject({ messageId: "d1", duplicate: true });
    expect(told?.queues).toHaveLength(2);
    for (const queue of queues) expect(told?.queues).toContainEqual({ queue, sequence: "0" });
    await one.runWorker();
    for (const queue of queues) expect(await bodiesOf(c, queue)).toEqual(["d1"]);
  });

  test("that the same call stores on the queue is that one's, wherever it stands", async () => {
    const one = await fresh();
    const queue = await newQueue(one.client);
    const answer = expectOk(await one.client.enqueue(queue, [transient("t", "z"), persistent("p", "z")]), 201);
    expect(answer.messages).toEqual([
      again(answer.messages[1], queue),
      { ...again(answer.messages[1], queue), duplicate: false },
    ]);
    await one.runWorker();
    expect(await bodiesOf(one.client, queue)).toEqual(["p"]);
  });

  test("sent again before the first has come, is not known yet; the worker drops the second", async () => {
    const one = await fresh();
    const queue = await newQueue(one.client, [], { messageDurability: "never" });
    const s = await newSession(one.client);
    for (const body of ["1", "2"]) {
      expect(duplicatesOf(expectOk(await s.enqueue(queue, [persistent(body, "z")]), 202))).toEqual([false]);
    }
    await one.runWorker();
    expect(await bodiesOf(one.client, queue)).toEqual(["1"]);
  });

  test("is known in the line of a session too, and not on a queue that was declared again", async () => {
    const one = await fresh();
    const s = await newSession(one.client);
    const queue = await newQueue(one.client, [], { messageDurability: "never", strictOrder: true });
    const first = expectOk(await s.enqueue(queue, [persistent("1", "z")]), 202).messages[0];
    await one.runWorker();
    expect(expectOk(await s.enqueue(queue, [persistent("2", "z")]), 202).messages).toEqual([again(first, queue)]);
    await one.runWorker();
    expect(await bodiesOf(one.client, queue)).toEqual(["1"]);
    // Another process, which has not heard of it.
    const two = await service.process("two");
    await two.restart();
    expectOk(await two.client.deleteQueue(queue), 204);
    expectOk(await two.client.declare(queue, { messageDurability: "never", strictOrder: true }), 201);
    const declaredAgain = expectOk(await s.enqueue(queue, [persistent("3", "z")]), 202);
    expect(duplicatesOf(declaredAgain)).toEqual([false]);
    await one.runWorker();
    expect(await bodiesOf(one.client, queue)).toEqual(["3"]);
  });

  test("is not taken for a duplicate of itself when a call is repeated whose answer was lost", async () => {
    const one = await fresh();
    const queue = await newQueue(one.client, [], { messageDurability: "never" });
    const key = { "idempotency-key": unique("key") };
    const sent = [persistent("1", "z"), persistent("2", "y")];
    one.onCall = async ({ operation, request }, next) => {
      const answer = await next();
      if (operation === "SendMessageBatch") request.stop();
      return answer;
    };
    const lost = await one.client.enqueue(queue, sent, key).catch(() => undefined);
    expect(lost?.status).not.toBe(202);
    one.onCall = undefined;
    await one.runWorker();
    const told = expectOk(await one.client.enqueue(queue, sent, key), 202);
    expect(duplicatesOf(told)).toEqual([false, false]);
    expect(expectOk(await one.client.enqueue(queue, sent, key), 202)).toEqual(told);
    const other = expectOk(await one.client.enqueue(queue, sent, { "idempotency-key": unique("key") }), 202);
    expect(duplicatesOf(other)).toEqual([true, true]);
    await one.runWorker();
    expect(await bodiesOf(one.client, queue)).toEqual(["1", "2"]);
  });
});
