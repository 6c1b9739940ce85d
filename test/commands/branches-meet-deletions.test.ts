import { beforeEach, describe, expect, it } from "vitest";
import type { Client } from "../support/client.ts";
import { useInProcessService } from "../support/in-process.ts";
import {
  acceptAll,
  begin,
  bodiesOf,
  drain,
  endAndPrepare,
  enqueueBodies,
  expectOk,
  expectXa,
  newQueue,
  newQueues,
  newSession,
  take,
} from "../support/moves.ts";
import { newXid, unique } from "../support/names.ts";
import { twoProcesses } from "../support/processes.ts";

const service = useInProcessService();

const deleted = async (c: Client, queue: string) => expectOk(await c.deleteQueue(queue), 204);

const anew = async (c: Client, queue: string) => {
  await deleted(c, queue);
  expectOk(await c.declare(queue), 201);
};

/** A branch, ended, that publishes these bodies to a queue. */
const publishing = async (c: Client, queue: string, bodies: readonly string[]) => {
  const s = await newSession(c);
  const xid = newXid();
  await enqueueBodies(await begin(s, xid), queue, bodies);
  expectXa(await s.end(xid), "XA_OK");
  return xid;
};

const preparedPublishing = async (c: Client, queue: string, bodies: readonly string[]) => {
  const xid = await publishing(c, queue, bodies);
  expectXa(await c.prepare(xid), "XA_OK");
  return xid;
};

describe("a queue declared anew that a process still knows by its older life", () => {
  let stale: Client;
  let c: Client;
  let queue: string;

  beforeEach(async () => {
    const [one, two] = await twoProcesses(service);
    [stale, c] = [one.client, two.client];
    queue = await newQueue(stale, ["of the older life"]);
    await anew(c, queue);
  });

  it("gets what a branch publishes to it, whoever commits", async () => {
    const xid = await publishing(c, queue, ["of the new life"]);
    expectXa(await stale.commit(xid, { onePhase: true }), "XA_OK");
    expect(await bodiesOf(c, queue)).toEqual(["of the new life"]);
  });

  it("gives what a branch accepts from it, whoever is asked", async () => {
    await enqueueBodies(c, queue, ["of the new life"]);
    const s = await newSession(c);
    const xid = newXid();
    await begin(s, xid);
    const deliveries = await take(s, queue);
    await acceptAll(stale.with(s.context).within(xid), deliveries);
    await endAndPrepare(s, xid);
    expectXa(await c.rollback(xid), "XA_OK");
    expect(await drain(c, queue)).toMatchObject([{ body: "of the new life", redelivered: true }]);
  });
});

describe("a branch that publishes to a queue which is gone at its commit", () => {
  it("finds the dead-letter queue also when the queue goes between its settings and the position", async () => {
    const [one, two] = await twoProcesses(service);
    const deadLetterQueue = await newQueue(one.client);
    const queue = await newQueue(one.client, [], { deadLetterQueue });
    const xid = await publishing(one.client, queue, ["kept"]);
    await two.restart();
    let isDeleted = false;
    two.onCall = async ({ operation }, next) => {
      if (operation === "UpdateItem" && !isDeleted) {
        isDeleted = true;
        await deleted(one.client, queue);
      }
      return next();
    };
    expectXa(await two.client.commit(xid, { onePhase: true }), "XA_OK");
    expect(await bodiesOf(one.client, deadLetterQueue)).toEqual(["kept"]);
  });

  it("finds the dead-letter queue also when positions were taken before the queue went", async () => {
    const [one, two] = await twoProcesses(service);
    const deadLetterQueue = await newQueue(one.client);
    const queue = await newQueue(one.client, [], { deadLetterQueue });
    const xid = await preparedPublishing(one.client, queue, ["kept"]);
    await two.restart();
    // The settings are asked for and the position is taken at the same time: the deletion comes between the two.
    let positioned: () => void = () => {};
    let isDeleted = false;
    const taken = new Promise<void>((resolve) => {
      positioned = resolve;
    });
    two.onCall = async ({ operation, input }, next) => {
      if (operation === "UpdateItem" && !isDeleted) {
        isDeleted = true;
        const answer = await next();
        await deleted(one.client, queue);
        positioned();
        return answer;
      }
      if (operation === "GetItem" && JSON.stringify(input).includes("SETTINGS")) await taken;
      return next();
    };
    expectXa(await two.client.commit(xid), "XA_OK");
    expect(await bodiesOf(one.client, deadLetterQueue)).toEqual(["kept"]);
  });

  it("finds the dead-letter queue when a large one was decided before, and others finish it", async () => {
    const [one, two] = await twoProcesses(service);
    const deadLetterQueue = await newQueue(one.client);
    const queue = await newQueue(one.client, [], { deadLetterQueue });
    const s = await newSession(one.client);
    const xid = newXid();
    const b = await begin(s, xid);
    // Records make it large: each deduplication id is one.
    const messages = Array.from({ length: 100 }, (_, i) => ({ body: `${i}`, deduplicationId: `${i}` }));
    expectOk(await b.enqueue(queue, messages.slice(0, 90)), 201);
    expectOk(await b.enqueue(queue, messages.slice(90)), 201);
    await endAndPrepare(s, xid);
    one.onCall = async ({ request, operation }, next) => {
      // The decision is one record; what it decides is applied by transactions, and none of them is sent.
      if (operation !== "TransactWriteItems") return next();
      request.stop();
      return new Promise(() => {});
    };
    expect((await one.client.commit(xid)).status).toBe(503);
    expect((await two.client.getBranch(xid)).body.state).toBe("deciding");
    await deleted(two.client, queue);
    expectXa(await two.client.commit(xid), "XA_OK");
    expect(await bodiesOf(two.client, deadLetterQueue)).toEqual(Array.from({ length: 100 }, (_, i) => `${i}`));
  });

  it("still knows the dead-letter queue when the deleted queue is buried", async () => {
    const [one] = await twoProcesses(service);
    const deadLetterQueue = await newQueue(one.client);
    const queue = await newQueue(one.client, [], { deadLetterQueue });
    const xid = await preparedPublishing(one.client, queue, ["kept"]);
    await deleted(one.client, queue);
    service.wait(17 * 60_000);
    await one.runSchedule();
    expectXa(await one.client.commit(xid), "XA_OK");
    expect(await bodiesOf(one.client, deadLetterQueue)).toEqual(["kept"]);
  });

  it("puts into a limited dead-letter queue what has room there, and takes that room", async () => {
    const [one] = await twoProcesses(service);
    const deadLetterQueue = await newQueue(one.client, [], { maxMessages: 3 });
    const queue = await newQueue(one.client, [], { deadLetterQueue });
    const s = await newSession(one.client);
    const xid = newXid();
    const b = await begin(s, xid);
    await enqueueBodies(b, queue, ["1", "2"]);
    await enqueueBodies(b, queue, ["3", "4"]);
    await endAndPrepare(s, xid);
    await deleted(one.client, queue);
    expectXa(await one.client.commit(xid), "XA_OK");
    expect(await bodiesOf(one.client, deadLetterQueue)).toEqual(["1", "2", "3"]);
    expect((await one.client.enqueue(deadLetterQueue, [{ body: "no room" }])).status).toBe(409);
    await drain(one.client, deadLetterQueue);
    await enqueueBodies(one.client, deadLetterQueue, ["a", "b", "c"]);
    expect((await one.client.enqueue(deadLetterQueue, [{ body: "no room" }])).status).toBe(409);
  });

  it("puts into a ring what is newest", async () => {
    const [one] = await twoProcesses(service);
    const deadLetterQueue = await newQueue(one.client, ["old", "older"], { maxMessages: 2, overflow: "ring" });
    const queue = await newQueue(one.client, [], { deadLetterQueue });
    const xid = await preparedPublishing(one.client, queue, ["new"]);
    await deleted(one.client, queue);
    expectXa(await one.client.commit(xid), "XA_OK");
    expect(await bodiesOf(one.client, deadLetterQueue)).toEqual(["older", "new"]);
  });

  it("is committed when prepared, though the dead-letter queue is full and gets messages of its own", async () => {
    const [one] = await twoProcesses(service);
    const full = await newQueue(one.client, [], { maxMessages: 1 });
    const queue = await newQueue(one.client, [], { deadLetterQueue: full });
    const s = await newSession(one.client);
    const xid = newXid();
    const b = await begin(s, xid);
    await enqueueBodies(b, full, ["reserved"]);
    await enqueueBodies(b, queue, ["no room"]);
    await endAndPrepare(s, xid);
    await deleted(one.client, queue);
    expectXa(await one.client.commit(xid), "XA_OK");
    expect(await bodiesOf(one.client, full)).toEqual(["reserved"]);
  });
});

describe("a branch that publishes to more limited queues than one commit can reserve depth on", () => {
  it("is rolled back by prepare and by a one-phase commit, and no defect", async () => {
    const [one] = await twoProcesses(service);
    const queues = await newQueues(one.client, 100, { maxMessages: 1 });
    const s = await newSession(one.client);
    for (const isOnePhase of [false, true]) {
      const xid = newXid();
      const b = await begin(s, xid);
      for (const queue of queues) await enqueueBodies(b, queue, ["never"]);
      expectXa(await s.end(xid), "XA_OK");
      expectXa(await (isOnePhase ? s.commit(xid, { onePhase: true }) : s.prepare(xid)), "XA_RBROLLBACK");
    }
    expect(await bodiesOf(one.client, queues[0] ?? unique())).toEqual([]);
  }, 90_000);
});
