import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { PAYLOAD_CHUNK_BYTES } from "../../shared/domain/limits.ts";
import type { DeadLetter, Message, Properties } from "../../shared/domain/message.ts";
import type { Payload } from "../../shared/domain/run.ts";
import {
  chunk,
  chunkBytes,
  chunksFor,
  decode,
  deleteChunk,
  encodeMessage,
  putChunk,
} from "../../shared/records/payload.ts";
import { names, times } from "../support/arbitraries.ts";
import { plain, stored } from "./stored.ts";

const deadLetters: fc.Arbitrary<DeadLetter> = fc.record(
  {
    queue: names,
    reason: fc.constantFrom("rejected", "max-deliveries", "expired", "queue-deleted"),
    note: fc.string(),
    deliveryCount: fc.nat(),
    deadLetteredAtMs: times,
  },
  { requiredKeys: ["queue", "reason", "deliveryCount", "deadLetteredAtMs"] },
);

const texts = fc.string({ unit: "binary", maxLength: 255 });

const properties: fc.Arbitrary<Properties> = fc.record(
  {
    bodyEncoding: fc.constantFrom("utf8", "base64"),
    messageId: texts,
    contentType: texts,
    correlationId: texts,
    replyTo: texts,
    headers: fc.dictionary(fc.string(), fc.oneof(fc.string(), fc.integer(), fc.boolean()), { noNullPrototype: true }),
    deliveryMode: fc.constantFrom("persistent", "transient"),
    ttlSeconds: fc.nat(),
    priority: fc.nat(9),
    deduplicationId: texts,
    deadLetter: deadLetters,
  },
  { requiredKeys: ["bodyEncoding", "deliveryMode"] },
);

const bodies = fc.oneof(
  fc.uint8Array({ maxLength: 300 }),
  fc.constantFrom(0, 1, 127, 128, 16_383, 16_384, PAYLOAD_CHUNK_BYTES, 2 * PAYLOAD_CHUNK_BYTES + 1).map(bytesOf),
);

/** So many bytes, not all alike. */
function bytesOf(length: number): Uint8Array {
  return Uint8Array.from({ length }, (_, i) => (i * 31 + length) % 251);
}

const messages: fc.Arbitrary<Message> = fc.record({ properties, body: bodies });
const lists = fc.array(messages, { minLength: 1, maxLength: 12 });

/** Compares without printing megabytes. */
const same = (read: Message | undefined, written: Message | undefined): boolean =>
  read !== undefined &&
  written !== undefined &&
  JSON.stringify(plain(read.properties)) === JSON.stringify(plain(ordered(written.properties))) &&
  Buffer.compare(read.body, written.body) === 0;

/** The reader has an order of fields of its own. */
const ordered = (given: Properties): Properties => {
  const { bodyEncoding, deliveryMode, messageId, contentType, correlationId, replyTo, headers, ...rest } = given;
  const { ttlSeconds, priority, deduplicationId, deadLetter } = rest;
  const all = { bodyEncoding, deliveryMode, messageId, contentType, correlationId, replyTo, headers };
  return { ...all, ttlSeconds, priority, deduplicationId, deadLetter } as Properties;
};

const inChunks = (list: readonly Message[]) => {
  const chunks = chunk(list.map(encodeMessage));
  const payload: Payload = { kind: "chunks", owner: "o", firsts: chunks.map(({ first }) => first) };
  return { chunks, payload, firsts: payload.firsts };
};

describe("messages in a payload", () => {
  it("read back as they were written, inline", () => {
    fc.assert(
      fc.property(lists, (list) => {
        const read = decode({ kind: "inline", bytes: Buffer.concat(list.map(encodeMessage)) }, new Map());
        expect(read.size).toBe(list.length);
        expect(list.every((message, i) => same(read.get(i), message))).toBe(true);
      }),
      { numRuns: 30 },
    );
  });

  it("read back as they were written, in chunks that the table holds", () => {
    fc.assert(
      fc.property(lists, (list) => {
        const { chunks, payload } = inChunks(list);
        expect(chunks.every(({ bytes }) => bytes.length <= PAYLOAD_CHUNK_BYTES)).toBe(true);
        const read = decode(payload, new Map(chunks.map(({ bytes }, i) => [i, bytes])));
        expect(read.size).toBe(list.length);
        expect(list.every((message, i) => same(read.get(i), message))).toBe(true);
      }),
      { numRuns: 30 },
    );
  });

  it("are each found in the chunks that are named for it, without the others", () => {
    fc.assert(
      fc.property(lists, fc.nat(11), (list, any) => {
        const index = any % list.length;
        const { chunks, payload, firsts } = inChunks(list);
        const wanted = chunksFor(firsts, [index]);
        const read = decode(payload, new Map(wanted.map((number) => [number, chunks[number]?.bytes ?? bytesOf(0)])));
        expect(same(read.get(index), list[index])).toBe(true);
      }),
      { numRuns: 30 },
    );
  });

  it("are left out whose chunk is not there", () => {
    const list = [300, 2 * PAYLOAD_CHUNK_BYTES, 300].map(
      (length): Message => ({
        properties: { bodyEncoding: "base64", deliveryMode: "persistent" },
        body: bytesOf(length),
      }),
    );
    const { chunks, payload } = inChunks(list);
    const without = (missing: number) => {
      const there = chunks.flatMap(({ bytes }, i) => (i === missing ? [] : [[i, bytes] as const]));
      return [...decode(payload, new Map(there)).keys()];
    };
    expect(chunks.map(({ first }) => first)).toEqual([0, 1, 1, 1, 2]);
    expect([0, 1, 2, 3, 4].map(without)).toEqual([
      [1, 2],
      [0, 2],
      [0, 2],
      [0, 2],
      [0, 1],
    ]);
  });

  it.each([
    ["in the middle of a length", Uint8Array.of(0x80)],
    ["in the middle of a body", Uint8Array.of(0, 5, 1, 2)],
    ["after the properties", Uint8Array.of(0)],
  ])("that end %s are a defect, never nonsense", (_, bytes) => {
    expect(() => decode({ kind: "inline", bytes }, new Map())).toThrow(/ends in the middle/);
  });

  it("take two bytes beside their body when nothing else is said of them", () => {
    const bare: Message = { properties: { bodyEncoding: "utf8", deliveryMode: "persistent" }, body: bytesOf(100) };
    expect(encodeMessage(bare)).toHaveLength(102);
    const encoded = [100, 127].map((length) => encodeMessage({ ...bare, body: bytesOf(length) }));
    expect(encoded.map(({ length }) => length)).toEqual([102, 129]);
    const read = decode({ kind: "inline", bytes: Buffer.concat(encoded) }, new Map());
    expect([...read.values()].map((message) => message.properties)).toStrictEqual([bare.properties, bare.properties]);
  });
});

describe("a chunk's record", () => {
  it("holds its bytes, and a time to live only when it is given one", () => {
    const read = (ttlSeconds: number | undefined) => {
      const write = putChunk("o", 3, bytesOf(10), ttlSeconds);
      return write.kind === "put" ? stored(write.key, write.item) : {};
    };
    expect(chunkBytes(read(undefined))).toEqual(bytesOf(10));
    expect(read(undefined).ttl).toBeUndefined();
    expect(read(99)).toMatchObject({ pk: "PAYLOAD#o", sk: "0003", ttl: 99 });
    expect(chunkBytes({ b: "text" })).toBeUndefined();
  });

  it("is put and deleted without a condition: nothing names it before, and nothing after", () => {
    const common = { key: { pk: "PAYLOAD#o", sk: "0003" }, require: [], otherwise: "reload" };
    const b = bytesOf(3);
    expect(putChunk("o", 3, b, undefined)).toStrictEqual({ kind: "put", item: { b }, ...common });
    expect(deleteChunk("o", 3)).toEqual({ kind: "delete", ...common });
  });
});

describe("the cutting into chunks", () => {
  const cut = (...lengths: readonly number[]) =>
    chunk(lengths.map(bytesOf)).map(({ first, bytes }) => [first, bytes.length]);
  const most = PAYLOAD_CHUNK_BYTES;

  it.each<[string, readonly number[], readonly (readonly number[])[]]>([
    ["nothing has no chunk", [], []],
    ["what fits one exactly is one", [most - 1, 1], [[0, most]]],
    [
      "what is one byte more begins another at its message",
      [most - 1, 2],
      [
        [0, most - 1],
        [1, 2],
      ],
    ],
    [
      "a message as large as a chunk has one of its own, shared with none that does not fit",
      [most, 1],
      [
        [0, most],
        [1, 1],
      ],
    ],
    [
      "a larger one fills chunks of its own",
      [1, most + 1, 1, 1],
      [
        [0, 1],
        [1, most],
        [1, 1],
        [2, 2],
      ],
    ],
    [
      "twice as large, without a rest",
      [2 * most],
      [
        [0, most],
        [0, most],
      ],
    ],
  ])("%s", (_, lengths, chunks) => {
    expect(cut(...lengths)).toEqual(chunks);
  });

  it.each<[readonly number[], readonly number[], readonly number[]]>([
    [[0], [0, 5], [0]],
    [[0, 3, 7], [2], [0]],
    [
      [0, 3, 7],
      [3, 9],
      [1, 2],
    ],
    [[0, 3, 3, 3, 4], [3], [1, 2, 3]],
    [[0, 3], [], []],
  ])("of first messages %j finds for %j the chunks %j", (firsts, indexes, chunks) => {
    expect(chunksFor(firsts, indexes)).toEqual(chunks);
  });
});
