import { describe, expect, it } from "vitest";
import type { Client } from "../support/client.ts";
import {
  acceptAll,
  bodiesOf,
  browseAll,
  consume,
  countsOf,
  drain,
  enqueueBodies,
  expectOk,
  expectRefused,
  newQueue,
  newSession,
  take,
} from "../support/moves.ts";
import { eventually } from "../support/poll.ts";
import { useService } from "../support/service.ts";
import type { Delivery } from "../support/shapes.ts";

const service = useService();
const c = service.client;

const numbered = (count: number, word = ""): string[] => Array.from({ length: count }, (_, i) => `${word}${i}`);

const bodies = (deliveries: readonly Delivery[]): string[] => deliveries.map((delivery) => delivery.body);

/** Takes and accepts until the queue gives nothing, with a pause of the consumer's own between the two. */
async function consumeAll(consumer: Client, queue: string, atOnce: number): Promise<Delivery[]> {
  const consumed: Delivery[] = [];
  for (;;) {
    const some = await take(consumer, queue, atOnce, 300);
    if (some.length === 0) return consumed;
    await acceptAll(consumer, some);
    consumed.push(...some);
  }
}

describe("order", () => {
  it("ORD-1: push 10, restart, take: in order", async () => {
    const queue = await newQueue(c);
    for (const body of numbered(10)) await enqueueBodies(c, queue, [body]);
    await service.restart();
    expect(bodies(await consume(c, queue, 10))).toEqual(numbered(10));
    expect(await take(c, queue)).toEqual([]);
  });

  it("ORD-2: push 10, take 5, push 5, restart, take: in order", async () => {
    const queue = await newQueue(c);
    for (const body of numbered(10)) await enqueueBodies(c, queue, [body]);
    expect(bodies(await consume(c, queue, 5))).toEqual(numbered(5));
    for (const body of numbered(15).slice(10)) await enqueueBodies(c, queue, [body]);
    await service.restart();
    expect(bodies(await drain(c, queue))).toEqual(numbered(15).slice(5));
  });

  it("PY-9: leased, restart, lease over: redelivered is true", async () => {
    const queue = await newQueue(c, ["one", "two"]);
    const [first] = await take(c, queue, 1, 8);
    expect(first).toMatchObject({ body: "one", redelivered: false, deliveryCount: 1 });
    await service.restart();
    const [second] = await take(c, queue, 10, 300);
    expect(second, "the lease outlives the restart").toMatchObject({ body: "two", redelivered: false });
    const again = await eventually(
      async () => {
        const [delivery] = await take(c, queue);
        expect(delivery).toBeDefined();
        return delivery;
      },
      { withinMs: 12_000 },
    );
    expect(again).toMatchObject({ body: "one", redelivered: true, deliveryCount: 2, sequence: first?.sequence });
  });

  it("AS-5: 24 messages, accept 5, hold 3, kill: the next is number 5, accepted ones never return, held ones do", async () => {
    const queue = await newQueue(c, numbered(24), { leaseSeconds: 600 });
    const s = await newSession(c);
    const deliveries = await take(s, queue, 8);
    await acceptAll(s, deliveries.slice(0, 5));
    await service.restart();
    expect(bodies(await take(c, queue, 1))).toEqual(["8"]);
    await c.attach(s.context.session ?? "");
    const rest = await take(c, queue, 500);
    expect(bodies(rest)).toEqual(numbered(24).filter((body) => Number(body) > 4 && body !== "8"));
    expect(rest.map((delivery) => delivery.redelivered)).toEqual(rest.map((_, i) => i < 3));
  });

  it("500 messages in one call keep their order, and their sequences rise", async () => {
    const queue = await newQueue(c);
    const messages = numbered(500).map((body) => ({ body }));
    const { messages: enqueued } = expectOk(await c.enqueue(queue, messages), 201);
    const sequences = enqueued.map((message) => BigInt(message.queues[0]?.sequence ?? -1));
    expect(sequences).toEqual(sequences.toSorted((a, b) => (a < b ? -1 : 1)));
    expect(new Set(sequences).size).toBe(500);
    const delivered = await take(c, queue, 500);
    expect(bodies(delivered)).toEqual(numbered(500));
    expect(delivered.map((delivery) => BigInt(delivery.sequence))).toEqual(sequences);
  });

  it("501 messages in one call are refused, and none is written", async () => {
    const queue = await newQueue(c);
    const answer = await c.enqueue(
      queue,
      numbered(501).map((body) => ({ body })),
    );
    expectRefused(answer, "invalid-argument");
    expect(answer.problem?.errors?.map((error) => error.path)).toEqual(["messages"]);
    expect(await c.stats(queue)).toMatchObject({ available: "0", enqueued: "0" });
  });

  it("calls of every size, one after another, stand in the order of the calls", async () => {
    const queue = await newQueue(c);
    const sizes = [1, 100, 99, 2, 101, 1, 250];
    const sent = sizes.map((size, call) => numbered(size, `${call}-`));
    for (const call of sent) await enqueueBodies(c, queue, call);
    expect(await bodiesOf(c, queue)).toEqual(sent.flat());
    expect(bodies(await drain(c, queue))).toEqual(sent.flat());
  });
});

describe("many at once", () => {
  it("20 consumers on one queue take each message once", async () => {
    const queue = await newQueue(c);
    for (let call = 0; call < 10; call += 1) await enqueueBodies(c, queue, numbered(20, `${call}-`));
    const consumed = await Promise.all(Array.from({ length: 20 }, () => consumeAll(c, queue, 7)));
    const all = consumed.flat();
    expect(all.filter((delivery) => delivery.redelivered)).toEqual([]);
    expect(bodies(all).sort()).toEqual(
      Array.from({ length: 10 }, (_, call) => numbered(20, `${call}-`))
        .flat()
        .sort(),
    );
    for (const own of consumed) {
      const sequences = own.map((delivery) => BigInt(delivery.sequence));
      expect(sequences, "each consumer sees them in queue order").toEqual(
        sequences.toSorted((a, b) => (a < b ? -1 : 1)),
      );
    }
    expect(await countsOf(c, queue)).toEqual({ available: 0, leased: 0, held: 0 });
  });

  it("10 enqueuers at once: each one's messages stand in its own order, and none is lost", async () => {
    const queue = await newQueue(c);
    const sessions = await Promise.all(Array.from({ length: 10 }, () => newSession(c)));
    await Promise.all(
      sessions.map(async (s, enqueuer) => {
        for (let call = 0; call < 8; call += 1) await enqueueBodies(s, queue, numbered(5, `${enqueuer}-${call}-`));
      }),
    );
    const all = await browseAll(c, queue);
    expect(all).toHaveLength(400);
    expect(new Set(all.map((message) => message.sequence)).size).toBe(400);
    for (let enqueuer = 0; enqueuer < 10; enqueuer += 1) {
      const own = all.map((message) => message.body).filter((body) => body.startsWith(`${enqueuer}-`));
      expect(own).toEqual(Array.from({ length: 8 }, (_, call) => numbered(5, `${enqueuer}-${call}-`)).flat());
    }
    expect(bodies(await drain(c, queue))).toEqual(all.map((message) => message.body));
  });

  it("consumers and enqueuers at once: everything arrives once", async () => {
    const queue = await newQueue(c);
    let sending = true;
    const consumers = Array.from({ length: 6 }, async () => {
      const own: string[] = [];
      for (;;) {
        const wasSending = sending;
        own.push(...bodies(await consumeAll(c, queue, 10)));
        if (!wasSending) return own;
      }
    });
    const enqueuers = Array.from({ length: 6 }, async (_, enqueuer) => {
      for (let call = 0; call < 10; call += 1) await enqueueBodies(c, queue, numbered(6, `${enqueuer}-${call}-`));
    });
    await Promise.all(enqueuers);
    sending = false;
    const consumed = (await Promise.all(consumers)).flat();
    expect(consumed).toHaveLength(360);
    expect(new Set(consumed).size).toBe(360);
    expect(await c.stats(queue)).toMatchObject({ available: "0", leased: "0", held: "0" });
  });
});
