import { describe, expect, it } from "vitest";
import type { Client } from "../support/client.ts";
import { newFanout, standingOn } from "../support/exchanges.ts";
import { useInProcessService } from "../support/in-process.ts";
import { bodiesOf, expectOk, expectRefused, newQueue } from "../support/moves.ts";
import { unique } from "../support/names.ts";
import { twoProcesses } from "../support/processes.ts";

const service = useInProcessService();

/** The sequences that the answer gave are those of the messages that stand there. */
const expectSequences = async (
  c: Client,
  told: readonly { readonly messageId: string; readonly queues: readonly { queue: string; sequence?: string }[] }[],
) => {
  const { queue = "" } = told[0]?.queues[0] ?? {};
  const { messages } = expectOk(await c.browse(queue, { limit: 500 }));
  const expected = told.map(({ messageId, queues }) => ({
    messageId,
    sequence: queues.find((one) => one.queue === queue)?.sequence,
  }));
  expect(messages.map(({ messageId, sequence }) => ({ messageId, sequence }))).toEqual(expected);
};

describe("a publish to more queues than one commit takes", () => {
  it.each([
    ["120 queues", 120, {}, false],
    ["60 limited ones", 60, { maxMessages: 5 }, false],
    ["60 rings that are full", 60, { maxMessages: 2, overflow: "ring" }, false],
    ["50 that are to know its deduplication id", 45, { maxMessages: 5 }, true],
  ] as const)(
    "stands on each once: %s",
    async (_, count, settings, isDeduplicated) => {
      const [{ client: c }] = await twoProcesses(service);
      const { exchange, queues } = await newFanout(c, count, settings);
      if ("overflow" in settings) for (const queue of queues) await c.enqueue(queue, [{ body: "x" }, { body: "y" }]);
      const messages = [{ body: "1", ...(isDeduplicated && { deduplicationId: "d" }) }, { body: "2" }];
      const sent = expectOk(await c.publish(exchange, messages), 201);
      expect(sent.completed).toBe(true);
      expect(sent.messages.map((one) => one.queues.length)).toEqual([count, count]);
      expect(await standingOn(c, queues)).toEqual(queues.map(() => ["1", "2"]));
      await expectSequences(c, sent.messages);
      if (isDeduplicated) {
        const again = expectOk(await c.publish(exchange, messages.slice(0, 1)), 201);
        expect(again.messages[0]).toEqual({ ...sent.messages[0], duplicate: true });
      }
      // What it took of the limits is taken once.
      if ("maxMessages" in settings && !("overflow" in settings)) {
        const [queue = ""] = queues;
        expectOk(await c.enqueue(queue, [{ body: "3" }, { body: "4" }, { body: "5" }]), 201);
        expectRefused(await c.enqueue(queue, [{ body: "6" }]), "resource-limit-exceeded");
      }
    },
    120_000,
  );

  it("of 500 messages to 30 queues, in order", async () => {
    const [{ client: c }] = await twoProcesses(service);
    const { exchange, queues } = await newFanout(c, 30);
    const bodies = Array.from({ length: 500 }, (_, i) => `${i}`);
    const sent = expectOk(
      await c.publish(
        exchange,
        bodies.map((body) => ({ body })),
      ),
      201,
    );
    for (const queue of queues.slice(0, 3)) {
      const { messages } = expectOk(await c.browse(queue, { limit: 500 }));
      expect(messages.map(({ body }) => body)).toEqual(bodies);
    }
    await expectSequences(c, sent.messages);
  }, 120_000);

  it("is refused whole by one full queue, and nothing is counted", async () => {
    const [{ client: c }] = await twoProcesses(service);
    const { exchange, queues } = await newFanout(c, 110);
    const full = await newQueue(c, ["full"], { maxMessages: 1 });
    expectOk(await c.bind(exchange, { queue: full }), 201);
    const refused = await c.publish(exchange, [{ body: "no" }]);
    expectRefused(refused, "resource-limit-exceeded");
    expect(refused.problem?.detail).toBe(`queue ${full} is full`);
    expect(await c.stats(queues[0] ?? "")).toMatchObject({ enqueued: "0", available: "0" });
    expect(await bodiesOf(c, full)).toEqual(["full"]);
  }, 120_000);

  it("stopped once it is decided, is brought to its end by recovery; repeated, it is told the same", async () => {
    const [one, two] = await twoProcesses(service);
    const { exchange, queues } = await newFanout(one.client, 120);
    const headers = { "idempotency-key": unique() };
    let transactions = 0;
    one.onCall = async ({ request, operation }, next) => {
      // The decision, then one block.
      if (operation !== "TransactWriteItems" || transactions++ < 2) return next();
      request.stop();
      return new Promise(() => {});
    };
    const call = (from: Client) => from.publish(exchange, [{ body: "all" }], {}, headers);
    expectRefused(await call(one.client), "unavailable");
    const before = (await standingOn(two.client, queues)).filter((bodies) => bodies.length > 0).length;
    expect(before).toBeGreaterThan(0);
    expect(before).toBeLessThan(120);
    expect(expectOk(await two.client.recovery())).toMatchObject({ finished: 1 });
    expect(await standingOn(two.client, queues)).toEqual(queues.map(() => ["all"]));
    expect(expectOk(await call(two.client), 201).messages[0]?.queues).toHaveLength(120);
    expect(await standingOn(two.client, queues)).toEqual(queues.map(() => ["all"]));
  }, 120_000);

  it("stopped before it is decided, was never there; repeated, it is put once", async () => {
    const [one, two] = await twoProcesses(service);
    const { exchange, queues } = await newFanout(one.client, 120);
    const headers = { "idempotency-key": unique() };
    one.onCall = async ({ request, operation }, next) => {
      if (operation !== "TransactWriteItems") return next();
      request.stop();
      return new Promise(() => {});
    };
    const call = (from: Client) => from.publish(exchange, [{ body: "all" }], {}, headers);
    expectRefused(await call(one.client), "unavailable");
    expectOk(await two.client.recovery());
    expect(await standingOn(two.client, queues)).toEqual(queues.map(() => []));
    expectOk(await call(two.client), 201);
    expect(await standingOn(two.client, queues)).toEqual(queues.map(() => ["all"]));
  }, 120_000);

  it("leaves out a queue that was deleted before, and one that is deleted meanwhile", async () => {
    const [one, two] = await twoProcesses(service);
    const { exchange, queues } = await newFanout(one.client, 120);
    expectOk(await one.client.publish(exchange, [{ body: "known" }]), 201);
    let isDeleted = false;
    one.onCall = async ({ operation, input }, next) => {
      // Just before its position is taken; those of the others are taken at the same time.
      if (operation === "UpdateItem" && !isDeleted && JSON.stringify(input).includes(`${queues[0]}#`)) {
        isDeleted = true;
        expectOk(await two.client.deleteQueue(queues[0] ?? ""), 204);
      }
      return next();
    };
    const sent = expectOk(await one.client.publish(exchange, [{ body: "after" }]), 201);
    expect(sent.messages[0]?.queues).toHaveLength(119);
    expect(await standingOn(two.client, queues.slice(1))).toEqual(queues.slice(1).map(() => ["known", "after"]));
  }, 120_000);
});
