import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { browseAll, drain, expectOk, expectRefused, newQueue } from "../support/moves.ts";
import { useService } from "../support/service.ts";
import type { BrowsedMessage, Delivery, MessageInput } from "../support/shapes.ts";

const service = useService();
const c = service.client;

const MIB = 1024 * 1024;

const everyField: MessageInput = {
  body: '{"order":1}',
  bodyEncoding: "utf8",
  contentType: "application/json",
  messageId: "m-1",
  correlationId: "c-1",
  replyTo: "replies",
  headers: { text: "v", number: 1.5, yes: true, no: false, empty: "", "x-ümläut ✓": "☃" },
  deliveryMode: "persistent",
  ttlSeconds: 3600,
  priority: 4,
  deduplicationId: "d-1",
};

const binary = (bytes: Uint8Array): MessageInput => ({
  body: Buffer.from(bytes).toString("base64"),
  bodyEncoding: "base64",
});

/** The message fields of the contract, those that were not given left out. */
function fieldsOf(message: BrowsedMessage | Delivery): object {
  const { body, bodyEncoding, contentType, messageId, correlationId, replyTo } = message;
  const { headers, deliveryMode, ttlSeconds, priority, deduplicationId } = message;
  const all = { body, bodyEncoding, contentType, messageId, correlationId, replyTo };
  const rest = { headers, deliveryMode, ttlSeconds, priority, deduplicationId };
  return Object.fromEntries(
    Object.entries({ ...all, ...rest }).filter(([, value]) => (value ?? undefined) !== undefined),
  );
}

/** What a message must read like, given the id that its enqueue answered. */
const expected = (message: MessageInput, messageId: string | undefined): object => ({
  bodyEncoding: "utf8",
  deliveryMode: "persistent",
  messageId,
  ...message,
});

/** Enqueues the messages and holds what browse and acquire give against them; answers what was delivered. */
async function roundTrip(messages: readonly MessageInput[], queue?: string): Promise<readonly Delivery[]> {
  const on = queue ?? (await newQueue(c));
  const { messages: enqueued } = expectOk(await c.enqueue(on, messages), 201);
  const wanted = messages.map((message, i) => expected(message, enqueued[i]?.messageId));
  expect((await browseAll(c, on)).map(fieldsOf)).toEqual(wanted);
  const delivered = await drain(c, on);
  expect(delivered.map(fieldsOf)).toEqual(wanted);
  expect(delivered.map((d) => d.sequence)).toEqual(enqueued.map((e) => e.queues[0]?.sequence));
  return delivered;
}

describe("the fields of a message", () => {
  it("SIM-6: every field, an empty body and a binary one are identical after a restart", async () => {
    const queue = await newQueue(c);
    const messages = [everyField, { body: "" }, binary(Buffer.from([0, 255, 128, 10, 13, 0]))];
    const { messages: enqueued } = expectOk(await c.enqueue(queue, messages), 201);
    const before = await browseAll(c, queue);
    await service.restart();
    expect(await browseAll(c, queue)).toEqual(before);
    const delivered = await drain(c, queue);
    expect(delivered.map(fieldsOf)).toEqual(messages.map((message, i) => expected(message, enqueued[i]?.messageId)));
    expect(delivered[0]?.messageId).toBe("m-1");
    expect(await drain(c, queue)).toEqual([]);
  });

  it("the answer names each message, its queue, its sequence, and says that it is stored", async () => {
    const queue = await newQueue(c);
    const answer = expectOk(await c.enqueue(queue, [{ body: "a", messageId: "given" }, { body: "b" }]), 201);
    expect(answer).toEqual({
      messages: [
        { messageId: "given", queues: [{ queue, sequence: expect.stringMatching(/^\d+$/) }], duplicate: false },
        {
          messageId: expect.stringMatching(/./),
          queues: [{ queue, sequence: expect.stringMatching(/^\d+$/) }],
          duplicate: false,
        },
      ],
      completed: true,
    });
  });

  it("ids that were not given are made, and no two are alike", async () => {
    const queue = await newQueue(c);
    const calls = await Promise.all(
      Array.from({ length: 5 }, () =>
        c.enqueue(
          queue,
          Array.from({ length: 150 }, () => ({ body: "x" })),
        ),
      ),
    );
    const ids = calls.flatMap((call) => expectOk(call, 201).messages.map((message) => message.messageId));
    expect(new Set(ids).size).toBe(750);
  });

  it("the same message id twice is two messages", async () => {
    const delivered = await roundTrip([
      { body: "one", messageId: "m" },
      { body: "two", messageId: "m" },
    ]);
    expect(delivered).toHaveLength(2);
  });

  it("priority is kept and changes no order", async () => {
    await roundTrip(Array.from({ length: 10 }, (_, priority) => ({ body: `${priority}`, priority })));
  });

  it("transient messages on a branchless call keep their fields too", async () => {
    const queue = await newQueue(c, [], { messageDurability: "always" });
    await roundTrip([{ ...everyField, deliveryMode: "transient" }], queue);
  });

  it("the longest fields that are allowed", async () => {
    const longest = "x".repeat(255);
    const headers = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`header-${i}`, "v".repeat(100)]));
    await roundTrip([
      {
        body: "",
        contentType: longest,
        messageId: longest,
        correlationId: longest,
        replyTo: longest,
        deduplicationId: longest,
        headers,
      },
    ]);
  });

  it("header names that mean something to JavaScript are names like others", async () => {
    const headers = Object.fromEntries(
      ["__proto__", "constructor", "toString", "", "length"].map((name) => [name, "v"]),
    );
    const [delivered] = await roundTrip([{ body: "x", headers }]);
    expect(Object.keys(delivered?.headers ?? {})).toHaveLength(5);
  });
});

describe("bodies", () => {
  it.each([0, 1, 511, 512, 513, 700, 900, 1000, 1024, 1025, 4096, 100_000, 389_120])(
    "of %d bytes, text and binary, alone and side by side",
    async (size) => {
      const text = { body: "t".repeat(size) };
      const bytes = binary(randomBytes(size));
      await roundTrip([text]);
      await roundTrip([bytes, text, { body: "between" }, bytes]);
    },
  );

  it("of exactly 1 MiB, in ASCII, in four-byte characters and in base64", async () => {
    await roundTrip([{ body: "x".repeat(MIB) }]);
    await roundTrip([{ body: "𝄞".repeat(MIB / 4) }]);
    await roundTrip([binary(randomBytes(MIB))]);
  });

  it.each(
    Object.entries({
      ASCII: { body: "x".repeat(MIB + 1) },
      "three-byte characters": { body: "€".repeat(Math.ceil((MIB + 1) / 3)) },
      base64: binary(new Uint8Array(MIB + 1)),
    }),
  )("one byte over 1 MiB in %s is 413, and nothing of the call is written", async (_name, tooLarge) => {
    const queue = await newQueue(c);
    expectRefused(await c.enqueue(queue, [{ body: "small" }, tooLarge]), "payload-too-large");
    expect(await c.stats(queue)).toMatchObject({ available: "0", enqueued: "0" });
  });

  it("every code point of every plane, NUL and the non-characters among them", async () => {
    const planes = Array.from({ length: 17 }, (_, plane) => ({ body: planeOf(plane) }));
    for (const half of [planes.slice(0, 9), planes.slice(9)]) await roundTrip(half);
  });

  it.each(
    Object.entries({
      "a byte order mark first": "\uFEFFx",
      "composed and decomposed accents": "\u00e9 e\u0301",
      "line separators and quotes": "\u2028\u2029\"'\\\r\n\t",
      "only NUL": "\0",
      "JSON in JSON": JSON.stringify({ body: "x", messages: [{ "\u0000": null }] }),
      "a lone zero": "0",
    }),
  )("text stays as it is: %s", async (_name, body) => {
    await roundTrip([{ body }, { body: `${body}${"-".repeat(2000)}` }]);
  });

  it("any messages at all come back as they were sent", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyMessage, { minLength: 1, maxLength: 12 }), async (messages) => {
        await roundTrip(messages);
      }),
      { numRuns: 15 },
    );
  });
});

/** All code points of a plane, but the surrogates, which are no characters. */
function planeOf(plane: number): string {
  const points = Array.from({ length: 0x10000 }, (_, i) => plane * 0x10000 + i);
  return points
    .filter((point) => point < 0xd800 || point > 0xdfff)
    .map((point) => String.fromCodePoint(point))
    .join("");
}

const anyText = fc.string({ unit: "binary", minLength: 1, maxLength: 40 });

const anyMessage: fc.Arbitrary<MessageInput> = fc
  .record(
    {
      content: fc.oneof(
        fc.string({ unit: "binary", maxLength: 1500 }).map((body) => ({ body })),
        fc.uint8Array({ maxLength: 3000 }).map(binary),
      ),
      contentType: anyText,
      correlationId: anyText,
      replyTo: anyText,
      headers: fc.dictionary(anyText, fc.oneof(anyText, fc.integer(), fc.boolean())),
      priority: fc.nat(9),
      ttlSeconds: fc.integer({ min: 600, max: 100_000 }),
    },
    { requiredKeys: ["content"] },
  )
  .map(({ content, ...rest }) => ({ ...rest, ...content }));
