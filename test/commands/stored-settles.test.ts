import { beforeEach, describe, expect, test } from "vitest";
import { type Client, deferred } from "../support/client.ts";
import { type InProcess, useInProcessService } from "../support/in-process.ts";
import { bodiesOf, countsOf, drain, expectOk, newQueue, newSession, take } from "../support/moves.ts";

const service = useInProcessService();

const TEN = Array.from({ length: 10 }, (_, i) => `${i + 1}`);
const LEASE = { leaseSeconds: 600 };

const sessionOf = ({ context: { session = "" } }: Client): string => session;

/** How a session ends whose stored commands no worker has run yet. */
const endings: Readonly<Record<string, (c: Client, s: Client) => Promise<void>>> = {
  "is detached": async (c, s) => {
    expectOk(await c.detach(sessionOf(s)), 204);
  },
  "is resumed under a newer epoch": async (c, s) => {
    expectOk(await c.attach(sessionOf(s), 3600));
  },
  expires: async () => service.wait(61_000),
};

describe("What a session has stored of settles", () => {
  let process: InProcess;
  let c: Client;

  beforeEach(async () => {
    process = await service.process("one");
    await process.restart(await service.newTable());
    c = process.client;
  });

  for (const [how, end] of Object.entries(endings)) {
    test(`AS-9: accepted before the session ${how} never comes back, what was not does`, async () => {
      const queue = await newQueue(c, TEN, LEASE);
      const s = await newSession(c, 60);
      const ids = (await take(s, queue, 10)).map(({ deliveryId }) => deliveryId);
      deferred(await s.later.accept([...ids.slice(0, 3), ...ids.slice(4)]));
      await end(c, s);
      // Nothing has been removed, and nobody else gets any of it meanwhile.
      expect(expectOk(await c.acquire(queue, { maxMessages: 10 })).deliveries).toEqual([]);
      expect(await countsOf(c, queue)).toEqual({ available: 0, leased: 10, held: 0 });
      await process.runWorker();
      expect((await drain(c, queue)).map(({ body }) => body)).toEqual(["4"]);
    });
  }

  test("a reject goes to the dead-letter queue with its reason, a release waits for its delay", async () => {
    const dead = await newQueue(c);
    const queue = await newQueue(c, ["a", "b"], { ...LEASE, deadLetterQueue: dead });
    const s = await newSession(c);
    const [a = "", b = ""] = (await take(s, queue, 2)).map(({ deliveryId }) => deliveryId);
    deferred(await s.later.reject([a], "no use"));
    deferred(await s.later.release([b], { delaySeconds: 30 }));
    expectOk(await c.detach(sessionOf(s)), 204);
    await process.runWorker();
    expect(await drain(c, queue)).toEqual([]);
    const [letter] = await drain(c, dead);
    expect(letter).toMatchObject({ body: "a", deadLetter: { reason: "rejected" } });
    service.wait(31_000);
    expect((await drain(c, queue)).map(({ body }) => body)).toEqual(["b"]);
  });

  test("keeps the leases of its own epoch only, and only settles do", async () => {
    const queue = await newQueue(c, ["a", "b"], LEASE);
    const other = await newQueue(c, ["c"], LEASE);
    const s = await newSession(c);
    await take(s, queue, 2);
    deferred(await s.later.enqueue(other, [{ body: "d" }]));
    const { epoch } = expectOk(await c.attach(sessionOf(s), 3600));
    expect(await bodiesOf(c, queue)).toEqual(["a", "b"]);
    expect(await countsOf(c, queue)).toEqual({ available: 2, leased: 0, held: 0 });
    const next = c.with({ session: sessionOf(s), epoch });
    const [taken] = await take(next, other, 1);
    deferred(await next.later.accept([taken?.deliveryId ?? ""]));
    expect(await countsOf(c, queue)).toEqual({ available: 2, leased: 0, held: 0 });
    expectOk(await c.detach(sessionOf(s)), 204);
    expect(await countsOf(c, other)).toEqual({ available: 0, leased: 1, held: 0 });
    await process.runWorker();
    expect((await drain(c, other)).map(({ body }) => body)).toEqual(["d"]);
  });

  test("does not keep a lease beyond its time", async () => {
    const queue = await newQueue(c, ["a"], { leaseSeconds: 5 });
    const s = await newSession(c);
    const [a] = await take(s, queue, 1);
    deferred(await s.later.accept([a?.deliveryId ?? ""]));
    expectOk(await c.detach(sessionOf(s)), 204);
    service.wait(6_000);
    expect((await drain(c, queue)).map(({ body }) => body)).toEqual(["a"]);
  });

  test("is taken to be there in a line too long to be looked through", async () => {
    const [queue, other] = [await newQueue(c, ["a"], LEASE), await newQueue(c, [], LEASE)];
    const s = await newSession(c);
    const [a] = await take(s, queue, 1);
    for (let i = 0; i < 200; i++) deferred(await s.later.enqueue(other, [{ body: `${i}` }]));
    deferred(await s.later.accept([a?.deliveryId ?? ""]));
    expectOk(await c.detach(sessionOf(s)), 204);
    expect(await countsOf(c, queue)).toEqual({ available: 0, leased: 1, held: 0 });
    await process.runWorker();
    expect(await drain(c, queue)).toEqual([]);
  });
});
