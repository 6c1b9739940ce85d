import { describe, expect, it } from "vitest";
import type { Client } from "../support/client.ts";
import {
  acceptAll,
  begin,
  bodiesOf,
  browseAll,
  countsOf,
  drain,
  endAndPrepare,
  enqueueBodies,
  expectOk,
  expectXa,
  newQueue,
  newSession,
  take,
} from "../support/moves.ts";
import { newXid } from "../support/names.ts";
import { idsOf } from "../support/outcomes.ts";
import { useService } from "../support/service.ts";

const service = useService();
const c = service.client;

const numbered = (count: number, word: string): string[] => Array.from({ length: count }, (_, i) => `${word}-${i}`);

const newSessions = (count: number): Promise<Client[]> =>
  Promise.all(Array.from({ length: count }, () => newSession(c)));

/** What one sender sent, in the order in which it appears. */
const from = (word: string, bodies: readonly string[]): string[] =>
  bodies.filter((body) => body.startsWith(`${word}-`));

/** Each session sends 30 messages in 6 calls, all sessions at once. */
async function sendAll(sessions: readonly Client[], queue: string): Promise<void> {
  await Promise.all(
    sessions.map(async (s, i) => {
      const own = numbered(30, `s${i}`);
      for (let call = 0; call < 6; call += 1) await enqueueBodies(s, queue, own.slice(call * 5, call * 5 + 5));
    }),
  );
}

describe("a queue with partitions", () => {
  it("keeps each session's order, in browse and in delivery, and gives every sequence once", async () => {
    const queue = await newQueue(c, [], { partitions: 5 });
    const sessions = await newSessions(8);
    await sendAll(sessions, queue);
    const seen = await browseAll(c, queue);
    expect(new Set(seen.map((message) => message.sequence)).size).toBe(240);
    await service.restart();
    const delivered = await drain(c, queue);
    expect(delivered).toHaveLength(240);
    for (const i of sessions.keys()) {
      expect(
        from(
          `s${i}`,
          seen.map((message) => message.body),
        ),
      ).toEqual(numbered(30, `s${i}`));
      expect(
        from(
          `s${i}`,
          delivered.map((delivery) => delivery.body),
        ),
      ).toEqual(numbered(30, `s${i}`));
    }
    expect(await countsOf(c, queue)).toEqual({ available: 0, leased: 0, held: 0 });
  });

  it("a session always meets the same partition, after a resume too", async () => {
    const queue = await newQueue(c, [], { partitions: 16 });
    const [s] = await newSessions(1);
    const name = s?.context.session ?? "";
    for (let i = 0; i < 5; i += 1) await enqueueBodies(await c.attached(name), queue, [`a-${i}`]);
    expect(await bodiesOf(c, queue)).toEqual(numbered(5, "a"));
    const sequences = (await browseAll(c, queue)).map((message) => BigInt(message.sequence) % 16n);
    expect(new Set(sequences).size, "sequence = position × partitions + partition").toBe(1);
  });

  it("without a session any will do, but a call's messages stay together, in order", async () => {
    const queue = await newQueue(c, [], { partitions: 4 });
    for (let call = 0; call < 10; call += 1) await enqueueBodies(c, queue, numbered(12, `c${call}`));
    const seen = await bodiesOf(c, queue);
    const delivered = (await drain(c, queue)).map((delivery) => delivery.body);
    expect(delivered).toHaveLength(120);
    for (let call = 0; call < 10; call += 1) {
      expect(from(`c${call}`, seen)).toEqual(numbered(12, `c${call}`));
      expect(from(`c${call}`, delivered)).toEqual(numbered(12, `c${call}`));
    }
  });

  it("gives as many as asked for, wherever they are, and one when there is one", async () => {
    const queue = await newQueue(c, [], { partitions: 8 });
    const sessions = await newSessions(12);
    for (const [i, s] of sessions.entries()) await enqueueBodies(s, queue, [`m-${i}`]);
    expect(await take(c, queue, 10)).toHaveLength(10);
    expect(await take(c, queue, 10)).toHaveLength(2);
    for (const [i, s] of sessions.entries()) {
      await enqueueBodies(s, queue, [`n-${i}`]);
      expect(await take(c, queue)).toMatchObject([{ body: `n-${i}` }]);
    }
  });

  it("many consumers take each message once", async () => {
    const queue = await newQueue(c, [], { partitions: 3 });
    await sendAll(await newSessions(6), queue);
    const consumer = async (): Promise<string[]> => {
      const own: string[] = [];
      for (;;) {
        const some = await take(c, queue, 7, 300);
        if (some.length === 0) return own;
        await acceptAll(c, some);
        own.push(...some.map((delivery) => delivery.body));
      }
    };
    const all = (await Promise.all(Array.from({ length: 8 }, consumer))).flat();
    expect(all).toHaveLength(180);
    expect(new Set(all).size).toBe(180);
  });

  it("puts back to the original position, settles across partitions, purges all of them", async () => {
    const queue = await newQueue(c, [], { partitions: 4, leaseSeconds: 600 });
    const sessions = await newSessions(6);
    await sendAll(sessions, queue);
    const before = await bodiesOf(c, queue);
    const deliveries = await take(c, queue, 500);
    expect(deliveries).toHaveLength(180);
    await c.release(idsOf(deliveries));
    expect(await bodiesOf(c, queue)).toEqual(before);
    const again = await take(c, queue, 90);
    await acceptAll(c, again.slice(0, 40));
    expect(await countsOf(c, queue)).toEqual({ available: 90, leased: 50, held: 0 });
    expect(expectOk(await c.purge(queue))).toEqual({ purged: 90, more: false });
    expect(await countsOf(c, queue)).toEqual({ available: 0, leased: 50, held: 0 });
    expect(await c.stats(queue)).toMatchObject({ enqueued: "180", settled: "130" });
  });

  it("a branch's messages keep their order too, at the tail of its session's partition", async () => {
    const queue = await newQueue(c, [], { partitions: 4 });
    const [s] = (await newSessions(1)) as [Client];
    const xid = newXid();
    await enqueueBodies(await begin(s, xid), queue, numbered(3, "in"));
    await enqueueBodies(s, queue, ["out-0"]);
    await endAndPrepare(s, xid);
    await enqueueBodies(s, queue, ["out-1"]);
    expectXa(await s.commit(xid), "XA_OK");
    await enqueueBodies(s, queue, ["out-2"]);
    expect(await bodiesOf(c, queue)).toEqual(["out-0", "out-1", ...numbered(3, "in"), "out-2"]);
  });

  it("with a limit counts all its partitions together", async () => {
    const queue = await newQueue(c, [], { partitions: 4, maxMessages: 6, overflow: "ring" });
    const sessions = await newSessions(10);
    for (const [i, s] of sessions.entries()) await enqueueBodies(s, queue, [`m-${i}`]);
    expect((await bodiesOf(c, queue)).toSorted()).toEqual(["m-4", "m-5", "m-6", "m-7", "m-8", "m-9"]);
  });

  it("browse goes on with its cursor through all of them", async () => {
    const queue = await newQueue(c, [], { partitions: 3 });
    await sendAll(await newSessions(4), queue);
    const all = await browseAll(c, queue);
    const paged: string[] = [];
    let cursor: string | undefined;
    do {
      const page = expectOk(await c.browse(queue, { limit: 7, cursor }));
      paged.push(...page.messages.map((message) => message.sequence));
      cursor = page.cursor;
    } while (cursor !== undefined);
    expect(paged).toEqual(all.map((message) => message.sequence));
  });
});
