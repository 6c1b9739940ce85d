import { describe, expect, test } from "vitest";
import { useInProcessService } from "./in-process.ts";
import { drain, expectRefused, newQueue, take } from "./moves.ts";
import { unique } from "./names.ts";

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
  const queued = (...bodies: string[]) =>
    bodies.map((body) => ({ group: body.charAt(0), id: unique(body), body: JSON.stringify(body) }));

  test("take all that is in its table's command queue, and nothing of another table's", async () => {
    const table = await service.newTable();
    const other = await service.newTable();
    const one = await service.process("one");
    await one.restart(table);
    await service.queues.fill(table, queued("a1", "a2", "b1"));
    await service.queues.fill(other, queued("c1"));
    await one.runWorker();
    expect(await service.queues.drain(table)).toEqual([]);
    expect((await service.queues.drain(other)).map(({ body }) => body)).toEqual(['"c1"']);
  });

  test("are handed what was taken out and put back, in its order, as often as the test wants", async () => {
    const table = await service.newTable();
    const one = await service.process("one");
    await one.restart(table);
    const messages = queued("a1", "a2", "b1");
    await service.queues.fill(table, messages);
    const left = await service.queues.drain(table);
    expect(left).toHaveLength(3);
    expect(left.filter(({ group }) => group === "a").map(({ body }) => body)).toEqual(['"a1"', '"a2"']);
    await service.queues.renew(table);
    await one.restart(table);
    await service.queues.fill(table, left);
    await one.runWorker("twice");
    expect(await service.queues.drain(table)).toEqual([]);
  });
});
