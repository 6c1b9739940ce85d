import { ScanCommand } from "@aws-sdk/client-dynamodb";
import { describe, expect, test } from "vitest";
import { table } from "../../cdk/table.ts";
import { deferred } from "../support/client.ts";
import { commitsOn, holdCalls } from "../support/held-calls.ts";
import { useInProcessService } from "../support/in-process.ts";
import { bodiesOf, drain, expectOk, newQueue, take } from "../support/moves.ts";
import { unique } from "../support/names.ts";

const service = useInProcessService();

describe("two workers at one command", () => {
  test("one of which finds the queue full of what the other one has put there, tell what that one has decided", async () => {
    const one = await service.process("one");
    await one.restart();
    const c = one.client;
    const name = unique("session");
    const exchange = unique("exchange");
    expectOk(await c.declareExchange(exchange, { type: "fanout" }), 201);
    const stored = await newQueue(c, [], { messageDurability: "always", maxMessages: 1 });
    const handedOn = await newQueue(c, [], { messageDurability: "never" });
    for (const queue of [stored, handedOn]) expectOk(await c.bind(exchange, { queue }), 201);
    deferred(await (await c.attached(name)).later.publish(exchange, [{ body: "1" }]));
    const begun: number[] = [];
    const held = holdCalls(one, ({ request: { lambda, number }, index, operation, input }) => {
      if (lambda !== "worker/commands") return undefined;
      if (index === 0 && begun.length < 2) begun.push(number);
      if (operation === "SendMessageBatch") return "the first has put its message, and hands on";
      const looksForRoom = operation === "GetItem" && JSON.stringify(input).includes('"CAPACITY#');
      return looksForRoom && number === begun[1] ? "the second looks for room" : undefined;
    });
    const worked = one.runWorker("twice at once");
    await held.held("the first has put its message, and hands on");
    await held.held("the second looks for room");
    held.release("the second looks for room");
    await expect
      .poll(async () => expectOk(await c.completions(name)).completions.length)
      .toBe(1)
      .catch(() => {});
    held.release("the first has put its message, and hands on");
    await worked;
    expect(expectOk(await c.completions(name)).completions).toMatchObject([{ commandId: "1", status: 201 }]);
    expect(await bodiesOf(c, stored)).toEqual(["1"]);
    expect(await bodiesOf(c, handedOn)).toEqual(["1"]);
  });

  test("that send a message to the dead-letter queue, of which the second leaves no copy of its body", async () => {
    const one = await service.process("one");
    await one.restart(await service.newTable());
    const c = one.client;
    const dead = await newQueue(c);
    const queue = await newQueue(c, ["b".repeat(3_000)], { deadLetterQueue: dead });
    const ids = (await take(c, queue, 1)).map(({ deliveryId }) => deliveryId);
    deferred(await (await c.attached(unique("session"))).later.reject(ids));
    const commits: number[] = [];
    const held = holdCalls(one, (call) => {
      if (call.request.lambda !== "worker/commands" || !commitsOn(call, dead)) return undefined;
      commits.push(call.request.number);
      return commits.length === 1 ? "the first commits" : "the second commits";
    });
    const worked = one.runWorker("twice at once");
    await held.held("the first commits");
    await held.held("the second commits");
    held.release("the first commits");
    held.release("the second commits");
    await worked;
    expect(await chunks()).toBe(1);
    expect(await drain(c, dead)).toHaveLength(1);
    expect(await chunks()).toBe(0);
  });
});

/** How many records hold parts of bodies. */
const chunks = async (): Promise<number> => {
  const { Items = [] } = await service.table.send(
    new ScanCommand({ TableName: service.tableName, ConsistentRead: true }),
  );
  return Items.filter((item) => item[table.partitionKey]?.S?.startsWith("PAYLOAD#")).length;
};
