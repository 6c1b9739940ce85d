import { GetItemCommand, PutItemCommand } from "@aws-sdk/client-dynamodb";
import { describe, expect, test } from "vitest";
import { type Client, deferred } from "../support/client.ts";
import { type InProcess, useInProcessService } from "../support/in-process.ts";
import { bodiesOf, expectOk, expectRefused, newQueue } from "../support/moves.ts";
import { unique } from "../support/names.ts";
import { eventually } from "../support/poll.ts";

const service = useInProcessService();

const stage = async (): Promise<{ one: InProcess; c: Client; name: string; s: Client }> => {
  const one = await service.process("one");
  await one.restart();
  const name = unique("session");
  return { one, c: one.client, name, s: await one.client.attached(name) };
};

const completions = async (c: Client, name: string) => expectOk(await c.completions(name));

/** Makes a stored command something that no worker can run. */
const spoil = async (session: string, command: string, attributes: Record<string, object>): Promise<void> => {
  const Key = { pk: { S: `SESSION#${session}` }, sk: { S: `COMMAND#${command.padStart(20, "0")}` } };
  const TableName = service.tableName;
  const { Item } = await service.table.send(new GetItemCommand({ TableName, Key, ConsistentRead: true }));
  await service.table.send(new PutItemCommand({ TableName, Item: { ...Item, ...attributes } as typeof Item }));
};

describe("A command that no worker can run", () => {
  test.for([
    ["because of what it asks", { b: { B: Uint8Array.of(0, 2, 120, 121) } }],
    ["because its record cannot be read", { au: { S: "everybody" } }],
  ] as const)("%s fails after some deliveries; what is behind it goes on", async ([, wrong]) => {
    const { one, c, name, s } = await stage();
    const [queue, other] = [await newQueue(c), await newQueue(c)];
    const bad = deferred(await s.later.enqueue(queue, [{ body: "1" }]));
    await spoil(name, bad, wrong);
    deferred(await s.later.enqueue(queue, [{ body: "2" }]));
    deferred(await s.later.enqueue(other, [{ body: "3" }]));
    await one.runWorker();
    expect(await bodiesOf(c, queue)).toEqual(["2"]);
    expect(await bodiesOf(c, other)).toEqual(["3"]);
    const { completions: all, completedThrough } = await completions(c, name);
    expect(completedThrough).toBe("3");
    const failed = all.filter(({ status }) => status !== 201);
    if ("b" in wrong) expect(failed).toMatchObject([{ commandId: bad, status: 500, body: { code: "internal-error" } }]);
    expect(all.flatMap(({ commandId, status }) => (status === 201 ? [commandId] : []))).toEqual(["2", "3"]);
  });

  test("for as long as the workers die of something else is run when they do not, though the queue has given it up", async () => {
    const { one, c, name, s } = await stage();
    const queue = await newQueue(c);
    deferred(await s.later.enqueue(queue, [{ body: "1" }]));
    const given = new Set<string>();
    one.onCall = async ({ request }, next) => {
      given.add(request.lambda);
      if (request.lambda === "worker/commands" && !given.has("worker/failed-commands")) request.stop();
      return next();
    };
    // So many workers die of it that the command queue gives the message to the other one.
    for (let deaths = 0; deaths < 20 && !given.has("worker/failed-commands"); deaths += 1) await one.runWorker();
    await one.runWorker();
    expect([...given].toSorted()).toEqual(["worker/commands", "worker/failed-commands"]);
    one.onCall = undefined;
    expect((await completions(c, name)).completions.map(({ status }) => status)).toEqual([201]);
    expect(await bodiesOf(c, queue)).toEqual(["1"]);
  });
});

describe("What need not be persisted", () => {
  test("goes to the queue of now, whatever a process remembers of its name", async () => {
    const [one, two] = [await service.process("one"), await service.process("two")];
    await one.restart();
    await two.restart();
    const queue = await newQueue(one.client, [], { messageDurability: "never" });
    expectOk(await one.client.enqueue(queue, [{ body: "1" }]), 202);
    await one.runWorker();
    expectOk(await two.client.deleteQueue(queue), 204);
    expectRefused(await one.client.enqueue(queue, [{ body: "2" }]), "not-found");
    expectOk(await one.client.declare(queue, { messageDurability: "never" }), 201);
    expectOk(await one.client.enqueue(queue, [{ body: "3" }]), 202);
    expectOk(await two.client.deleteQueue(queue), 204);
    expectOk(await two.client.declare(queue, { messageDurability: "always" }), 201);
    expectOk(await one.client.enqueue(queue, [{ body: "4" }]), 201);
    await one.runWorker();
    expect(await bodiesOf(one.client, queue)).toEqual(["4"]);
  });

  test("says behind open commands too what no queue could make right", async () => {
    const { c, s } = await stage();
    const queue = await newQueue(c, [], { messageDurability: "never" });
    deferred(await s.later.enqueue(queue, [{ body: "1" }]));
    const messages = Array.from({ length: 91 }, (_, i) => ({ body: "", deduplicationId: `d-${i}` }));
    expectRefused(await s.enqueue(queue, messages), "invalid-argument");
  });

  test("bears the ids that its caller was told, also when the request is repeated", async () => {
    const { one, c } = await stage();
    const exchange = unique("exchange");
    expectOk(await c.declareExchange(exchange, { type: "fanout" }), 201);
    const queues = [await newQueue(c), await newQueue(c)];
    for (const queue of queues) expectOk(await c.bind(exchange, { queue }), 201);
    const key = { "idempotency-key": unique("key") };
    const message = { body: "m", deliveryMode: "transient" } as const;
    one.onCall = async ({ request, operation }, next) => {
      if (operation === "TransactWriteItems") request.stop();
      return next();
    };
    expectRefused(await c.publish(exchange, [message], {}, key), "unavailable");
    await one.restart();
    const told = expectOk(await c.publish(exchange, [message], {}, key), 202).messages[0]?.messageId;
    await one.runWorker();
    for (const queue of queues) expect(expectOk(await c.browse(queue)).messages).toMatchObject([{ messageId: told }]);
  });
});

describe("A session's line", () => {
  test("has an exchange and its alternate in order", async () => {
    const { one, c, name, s } = await stage();
    const [exchange, alternate, queue] = [unique("exchange"), unique("alternate"), await newQueue(c)];
    const { later } = s;
    deferred(await later.declareExchange(alternate, { type: "fanout" }));
    deferred(await later.declareExchange(exchange, { type: "direct", alternateExchange: alternate }));
    deferred(await later.bind(alternate, { queue }));
    deferred(await later.publish(exchange, [{ body: "lost" }], { mandatory: true }));
    deferred(await later.deleteExchange(exchange));
    deferred(await later.deleteExchange(alternate));
    await one.runWorker();
    expect((await completions(c, name)).completions.map(({ status }) => status)).toEqual([
      201, 201, 201, 201, 204, 204,
    ]);
    expect(await bodiesOf(c, queue)).toEqual(["lost"]);
  });

  test("tells one that waits for a call to nobody else, also when the request comes again with the preference", async () => {
    const { one, c, name, s } = await stage();
    const queue = await newQueue(c);
    const key = { "idempotency-key": unique("key") };
    deferred(await s.later.enqueue(queue, [{ body: "1" }]));
    const first = s.enqueue(queue, [{ body: "2" }], key);
    await eventually(async () => expect(expectOk(await c.getSession(name)).incompleteCommands).toBe("2"));
    const again = s.later.enqueue(queue, [{ body: "2" }], key);
    await one.runWorker();
    expect(expectOk(await again, 201)).toEqual(expectOk(await first, 201));
    expect(await bodiesOf(c, queue)).toEqual(["1", "2"]);
  });
});
