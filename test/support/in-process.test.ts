import { describe, expect, test } from "vitest";
import { type InProcess, useInProcessService } from "./in-process.ts";
import { drain, expectOk, expectRefused, newQueue, take } from "./moves.ts";

const service = useInProcessService();

describe("A process of the service inside the test", () => {
  test("shows every call of the SDK in order, with the request that makes it", async () => {
    const one = await service.process("one");
    const seen: string[] = [];
    one.onCall = async ({ request, index, operation }, next) => {
      seen.push(`${request.process} ${request.lambda} ${index} ${operation}`);
      return next();
    };
    await newQueue(one.client, ["a message"]);
    expect(seen).toEqual([
      "one queues/declare 0 GetItem",
      "one queues/declare 1 TransactWriteItems",
      "one queues/enqueue 0 GetItem",
      "one queues/enqueue 1 UpdateItem",
      "one queues/enqueue 2 TransactWriteItems",
    ]);
  });

  test("keeps its caches until it is restarted, and shares nothing with another one", async () => {
    const [one, two] = [await service.process("one"), await service.process("two")];
    await one.restart();
    const queue = await newQueue(one.client, ["a message"]);
    const reads: string[] = [];
    for (const each of [one, two]) {
      each.onCall = async ({ request, operation }, next) => {
        if (operation === "GetItem") reads.push(request.process);
        return next();
      };
    }
    await one.client.enqueue(queue, [{ body: "from the cache" }]);
    await two.client.enqueue(queue, [{ body: "not from the cache" }]);
    expect(reads).toEqual(["two"]);
  });

  test("holds a call for as long as the test wants, while other requests go on", async () => {
    const one = await service.process("one");
    await one.restart();
    const queue = await newQueue(one.client);
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    one.onCall = async ({ request, operation }, next) => {
      if (request.number === 1 && operation === "TransactWriteItems") await held;
      return next();
    };
    const late = one.client.enqueue(queue, [{ body: "late" }]);
    await one.client.enqueue(queue, [{ body: "early" }]);
    expect(await drain(one.client, queue)).toMatchObject([{ body: "early" }]);
    release();
    await late;
    expect(await drain(one.client, queue)).toMatchObject([{ body: "late" }]);
  });

  test("stops a request where it is: the caller gets 503, and nothing more is written", async () => {
    const one = await service.process("one");
    await one.restart();
    const queue = await newQueue(one.client);
    one.onCall = async ({ request, operation }, next) => {
      const answer = await next();
      if (operation === "UpdateItem") request.stop();
      return answer;
    };
    expectRefused(await one.client.enqueue(queue, [{ body: "lost" }]), "unavailable");
    await one.restart();
    expect(await one.client.stats(queue)).toMatchObject({ enqueued: "1", available: "0" });
  });

  test("lets time pass for its requests", async () => {
    const one = await service.process("one");
    await one.restart();
    const queue = await newQueue(one.client, ["a message"]);
    expect(await take(one.client, queue, 1, 30)).toMatchObject([{ redelivered: false }]);
    expect(await take(one.client, queue)).toEqual([]);
    service.wait(31_000);
    expect(await take(one.client, queue)).toMatchObject([{ redelivered: true }]);
  });
});

describe("The workers of a process inside the test", () => {
  const transient = (body: string) => ({ body, deliveryMode: "transient" }) as const;
  const bodies = async (one: InProcess, queue: string) => (await drain(one.client, queue)).map(({ body }) => body);

  test("take what their table's command queue holds, and nothing of another table's", async () => {
    const one = await service.process("one");
    await one.restart(await service.newTable());
    const queue = await newQueue(one.client);
    expectOk(await one.client.enqueue(queue, [transient("first"), transient("second")]), 202);
    const other = await service.process("two");
    await other.restart(await service.newTable());
    await other.runWorker();
    expect(await one.client.stats(queue)).toMatchObject({ available: "0" });
    await one.runWorker("twice");
    expect(await bodies(one, queue)).toEqual(["first", "second"]);
  });

  test("that are stopped leave their batch in the queue", async () => {
    const table = await service.newTable();
    const one = await service.process("one");
    await one.restart(table);
    const queue = await newQueue(one.client);
    expectOk(await one.client.enqueue(queue, [transient("a message")]), 202);
    one.onCall = async ({ request }, next) => {
      request.stop();
      return next();
    };
    await one.runWorker();
    await one.restart();
    expect(await one.client.stats(queue)).toMatchObject({ available: "0" });
    await one.runWorker("twice at once");
    expect(await bodies(one, queue)).toEqual(["a message"]);
  });

  test("find what was taken out of a queue and put into an empty one", async () => {
    const table = await service.newTable();
    const one = await service.process("one");
    await one.restart(table);
    const queue = await newQueue(one.client);
    for (const body of ["first", "second"]) expectOk(await one.client.enqueue(queue, [transient(body)]), 202);
    const queued = await service.queues.drain(table);
    expect(queued.length).toBeGreaterThan(0);
    await service.queues.renew(table);
    await one.restart();
    await one.runWorker();
    expect(await one.client.stats(queue)).toMatchObject({ available: "0" });
    await service.queues.fill(table, queued);
    await one.runWorker();
    expect((await bodies(one, queue)).toSorted()).toEqual(["first", "second"]);
  });

  test("show their calls, and those of whoever sends to the queue", async () => {
    const one = await service.process("one");
    await one.restart(await service.newTable());
    const queue = await newQueue(one.client);
    const seen = new Set<string>();
    one.onCall = async ({ request, operation }, next) => {
      seen.add(`${request.lambda} ${operation}`);
      return next();
    };
    expectOk(await one.client.enqueue(queue, [transient("a message")]), 202);
    await one.runWorker();
    expect(seen).toContain("queues/enqueue SendMessageBatch");
    expect(seen).toContain("worker/commands TransactWriteItems");
  });
});
