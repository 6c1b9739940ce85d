import { describe, expect, it } from "vitest";
import { browseAll, countsOf, expectOk, newQueue } from "../support/moves.ts";
import { useService } from "../support/service.ts";
import type { MessageInput } from "../support/shapes.ts";

const service = useService();
const c = service.client;

const ANSWER_BYTES = 4 * 1024 * 1024;
/** Requests stay under 5 MiB as sent. */
const CALL_BYTES = 4_500_000;

/** Enqueues in few calls, none over the request's bound; answers the bodies. */
async function enqueueLarge(queue: string, messages: readonly MessageInput[]): Promise<readonly string[]> {
  const each = Math.floor(CALL_BYTES / Math.max(...messages.map((one) => Buffer.byteLength(JSON.stringify(one)))));
  for (let i = 0; i < messages.length; i += each) {
    expectOk(await c.enqueue(queue, messages.slice(i, i + each)), 201);
  }
  return messages.map((message) => message.body);
}

const times = (count: number, message: (i: number) => MessageInput): MessageInput[] =>
  Array.from({ length: count }, (_, i) => message(i));

const kinds: Record<string, MessageInput[]> = {
  "bodies of 900 KB": times(5, (i) => ({ body: `${i}`.padEnd(900_000, "x") })),
  "bodies of 1 MiB in base64": times(4, (i) => ({
    body: Buffer.alloc(1024 * 1024, i).toString("base64"),
    bodyEncoding: "base64" as const,
  })),
  "480 bodies of 10 KB": times(480, (i) => ({ body: `${i}`.padEnd(10_000, "x") })),
  "characters that JSON makes six bytes of": times(8, (i) => ({ body: `${i}`.padEnd(100_000, "\u0001") })),
  "small bodies with large headers": times(330, (i) => ({ body: `${i}`, headers: { h: "v".repeat(14_000) } })),
};

/** Browse stops before 4 MB, says how to go on, and so gives everything. */
async function expectBrowsed(queue: string, sent: readonly string[]): Promise<void> {
  const first = expectOk(await c.browse(queue, { limit: 500 }));
  expect(Buffer.byteLength(JSON.stringify(first))).toBeLessThan(ANSWER_BYTES);
  expect(first.messages.length).toBeLessThan(sent.length);
  expect(first.cursor).toBeDefined();
  const all = await browseAll(c, queue);
  expect(all.length === sent.length && all.every((message, i) => message.body === sent[i])).toBe(true);
}

/** Acquire stops before 4 MB, leases only what it gives, and gives the rest to the next calls. */
async function expectAcquired(queue: string, sent: readonly string[]): Promise<void> {
  const got: string[] = [];
  for (let calls = 0; got.length < sent.length; calls += 1) {
    const { deliveries } = expectOk(await c.acquire(queue, { maxMessages: 500, leaseSeconds: 600 }));
    expect(Buffer.byteLength(JSON.stringify({ deliveries }))).toBeLessThan(ANSWER_BYTES);
    expect(deliveries.length, "every call gives something").toBeGreaterThan(0);
    got.push(...deliveries.map((delivery) => delivery.body));
    expect(await countsOf(c, queue)).toEqual({ available: sent.length - got.length, leased: got.length, held: 0 });
    if (calls === 0) expect(got.length).toBeLessThan(sent.length);
  }
  expect(got.every((body, i) => body === sent[i])).toBe(true);
}

describe("an answer stops before 4 MB", () => {
  it.each(Object.entries(kinds))("of %s", async (_name, messages) => {
    const queue = await newQueue(c);
    const sent = await enqueueLarge(queue, messages);
    await expectBrowsed(queue, sent);
    await expectAcquired(queue, sent);
  });

  it("one message that alone passes it is given all the same", async () => {
    const body = "\u0001".repeat(800_000);
    const queue = await newQueue(c, [body, "small"]);
    const first = expectOk(await c.acquire(queue, { maxMessages: 500 })).deliveries;
    expect(first.map((delivery) => delivery.body === body)).toEqual([true]);
    const second = expectOk(await c.acquire(queue, { maxMessages: 500 })).deliveries;
    expect(second.map((delivery) => delivery.body)).toEqual(["small"]);
  });

  it("settle none removes only what it gives", async () => {
    const queue = await newQueue(c);
    const sent = await enqueueLarge(queue, kinds["bodies of 900 KB"] ?? []);
    const { deliveries } = expectOk(await c.acquire(queue, { maxMessages: 500, settle: "none" }));
    expect(deliveries.length).toBeLessThan(sent.length);
    expect(await countsOf(c, queue)).toMatchObject({ available: sent.length - deliveries.length, leased: 0 });
    expect((await browseAll(c, queue)).every(({ body }, i) => body === sent[deliveries.length + i])).toBe(true);
  });
});
