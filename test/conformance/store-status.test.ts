import { UpdateItemCommand } from "@aws-sdk/client-dynamodb";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Client } from "../support/client.ts";
import { type InProcess, useInProcessService } from "../support/in-process.ts";
import { expectOk } from "../support/moves.ts";
import { newXid } from "../support/names.ts";

const service = useInProcessService();
let process: InProcess;
let c: Client;

beforeAll(async () => {
  process = await service.process("one");
  c = process.client;
});

beforeEach(async () => {
  await process.restart(await service.newTable());
});

const statusNow = async () => expectOk(await c.storeStatus());

const counterNow = async (): Promise<bigint> => BigInt((await statusNow()).changeCounter);

/** By how much the counter went up meanwhile. */
const changesOf = async (work: () => Promise<unknown>): Promise<number> => {
  const before = await counterNow();
  await work();
  return Number((await counterNow()) - before);
};

const take = async (queue: string, count: number, of = c): Promise<readonly string[]> =>
  expectOk(await of.acquire(queue, { maxMessages: count })).deliveries.map(({ deliveryId }) => deliveryId);

const bodies = (count: number) => Array.from({ length: count }, (_, i) => ({ body: `m${i}` }));

describe("GET /store/status", () => {
  it("of a store that nobody used yet is empty, and its id stays", async () => {
    const status = await statusNow();
    expect(status).toEqual({
      storeId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      clusterId: null,
      changeCounter: "0",
      configChange: null,
      configId: null,
      changeCounterAtConfigChange: null,
      role: "primary",
      state: "empty",
      shutdownId: null,
      changeCounterAtShutdown: null,
      members: [],
      readAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
    });
    await process.restart();
    expect((await statusNow()).storeId).toBe(status.storeId);
    await c.attach("billing");
    expect((await statusNow()).state).toBe("empty");
    await c.declare("orders");
    expect(await statusNow()).toMatchObject({ state: "dirty", changeCounter: "0" });
  });

  it("stays dirty when the only queue is deleted and buried", async () => {
    await c.declare("orders");
    await c.deleteQueue("orders");
    service.wait(17 * 60_000);
    await process.runSchedule();
    expect(await statusNow()).toMatchObject({ state: "dirty", changeCounter: "0" });
  });

  it("takes fewer than 20 reads of the table, with 60 queues, and one write at most", async () => {
    for (let i = 0; i < 60; i += 1) await c.declare(`q${i}`, { partitions: 3 });
    const operations: string[] = [];
    process.onCall = async (call, next) => {
      operations.push(call.operation);
      return next();
    };
    await c.enqueue("q7", bodies(2));
    operations.length = 0;
    expect((await statusNow()).changeCounter).toBe("2");
    expect(operations.filter((name) => name === "UpdateItem")).toHaveLength(1);
    operations.length = 0;
    expect((await statusNow()).changeCounter).toBe("2");
    expect(operations.toSorted()).toEqual([...Array(2).fill("GetItem"), ...Array(16).fill("Query")]);
  });
});

describe("changeCounter", () => {
  it("goes up by one for each enqueue and each dequeue on a queue", async () => {
    await c.declare("orders");
    expect(await changesOf(() => c.enqueue("orders", bodies(3)))).toBe(3);
    let ids: readonly string[] = [];
    expect(
      await changesOf(async () => {
        ids = await take("orders", 3);
      }),
    ).toBe(0);
    expect(await changesOf(() => c.extend(ids, 60))).toBe(0);
    expect(await changesOf(() => c.release(ids.slice(2)))).toBe(0);
    expect(await changesOf(() => c.accept(ids.slice(0, 2)))).toBe(2);
    expect(await changesOf(() => c.acquire("orders", { settle: "none" }))).toBe(1);
    expect(await changesOf(() => c.browse("orders"))).toBe(0);
  });

  it("counts a publish on every queue that it reaches, a duplicate on none", async () => {
    for (const queue of ["a", "b"]) {
      await c.declare(queue);
      await c.bind("amq.fanout", { queue });
    }
    expect(await changesOf(() => c.publish("amq.fanout", [{ body: "m", deduplicationId: "d" }]))).toBe(2);
    const again = await changesOf(() => c.publish("amq.fanout", [{ body: "m", deduplicationId: "d" }]));
    // The positions were taken before it was known: the counter may run ahead, by no more than was asked for.
    expect(again).toBeLessThanOrEqual(2);
  });

  it("counts a dead letter as a dequeue here and an enqueue there, a dropped one as a dequeue", async () => {
    await c.declare("letters");
    await c.declare("orders", { deadLetterQueue: "letters" });
    await c.enqueue("orders", bodies(2));
    expect(await changesOf(async () => c.reject(await take("orders", 2)))).toBe(4);
    expect(await changesOf(async () => c.reject(await take("letters", 2)))).toBe(2);
  });

  it("counts a purge, an expiry and the sweep of a deleted queue", async () => {
    await c.declare("orders", { messageTtlSeconds: 60 });
    await c.enqueue("orders", bodies(4));
    await take("orders", 1);
    expect(await changesOf(() => c.purge("orders"))).toBe(3);
    service.wait(61_000);
    expect(await changesOf(() => process.runSchedule())).toBe(1);
    await c.enqueue("orders", bodies(2));
    expect(await changesOf(() => c.deleteQueue("orders"))).toBe(2);
    service.wait(17 * 60_000);
    expect(await changesOf(() => process.runSchedule())).toBe(0);
  });

  it("counts a branch when it commits, and one that is rolled back not at all", async () => {
    await c.declare("orders");
    await c.declare("bills");
    await c.enqueue("orders", bodies(3));
    const s = await c.attached("billing");
    for (const [verb, changes] of [
      ["rollback", 0],
      ["commit", 3],
    ] as const) {
      const xid = newXid();
      const work = async () => {
        expectOk(await s.start(xid));
        await s.within(xid).accept(await take("orders", 2, s.within(xid)));
        await s.within(xid).enqueue("bills", bodies(1));
        expectOk(await s.end(xid));
        expectOk(await c.prepare(xid));
      };
      expect(await changesOf(work)).toBe(0);
      expect(await changesOf(() => c[verb](xid)), verb).toBe(changes);
    }
  });

  it("is the sum of the queues' own, and outlives a crash", async () => {
    await c.declare("orders", { partitions: 4 });
    await c.declare("bills");
    await c.enqueue("orders", bodies(5));
    await c.enqueue("bills", bodies(2));
    await c.accept(await take("orders", 2));
    const own = await Promise.all(
      ["orders", "bills"].map(async (queue) => BigInt((await c.stats(queue)).changeCounter)),
    );
    await process.restart();
    expect(await counterNow()).toBe(own.reduce((a, b) => a + b));
    expect(await counterNow()).toBe(9n);
  });

  it("wraps from 2^64-1 to 0", async () => {
    await c.declare("orders");
    await service.table.send(
      new UpdateItemCommand({
        TableName: service.tableName,
        Key: { pk: { S: "STORE" }, sk: { S: "STATUS" } },
        UpdateExpression: "SET #base = :base",
        ExpressionAttributeNames: { "#base": "base" },
        ExpressionAttributeValues: { ":base": { S: String(2n ** 64n - 2n) } },
      }),
    );
    const seen = [await counterNow()];
    for (let i = 0; i < 3; i += 1) {
      await c.enqueue("orders", bodies(1));
      seen.push(await counterNow());
    }
    expect(seen).toEqual([2n ** 64n - 2n, 2n ** 64n - 1n, 0n, 1n]);
  });
});
