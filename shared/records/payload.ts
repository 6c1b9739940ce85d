/**
 * Bodies as bytes: each message is its properties (short JSON, nothing for a bare message) and its body, both with their
 * lengths before them. A payload too large for its run's record is cut into chunks that begin at message boundaries; a
 * message larger than a chunk fills chunks of its own.
 */
import { PAYLOAD_CHUNK_BYTES } from "../domain/limits.ts";
import type { DeadLetter, HeaderValue, Message, Properties } from "../domain/message.ts";
import type { Payload } from "../domain/run.ts";
import { payloadKey } from "./keys.ts";
import type { Item, Write } from "./write.ts";

export const encodeMessage = (message: Message): Uint8Array => {
  const header = headerOf(message.properties);
  return Buffer.concat([varint(header.length), header, varint(message.body.length), message.body]);
};

/** Chunks of the encoded messages, each with the index of the message it begins or goes on with. */
export const chunk = (encoded: readonly Uint8Array[]): readonly { first: number; bytes: Uint8Array }[] => {
  const chunks: { first: number; bytes: Uint8Array }[] = [];
  let open: { first: number; parts: Uint8Array[]; size: number } | undefined;
  const close = () => {
    if (open !== undefined) chunks.push({ first: open.first, bytes: Buffer.concat(open.parts) });
    open = undefined;
  };
  for (const [first, bytes] of encoded.entries()) {
    if (open !== undefined && open.size + bytes.length > PAYLOAD_CHUNK_BYTES) close();
    if (bytes.length > PAYLOAD_CHUNK_BYTES) {
      for (let at = 0; at < bytes.length; at += PAYLOAD_CHUNK_BYTES) {
        chunks.push({ first, bytes: bytes.subarray(at, at + PAYLOAD_CHUNK_BYTES) });
      }
      continue;
    }
    open ??= { first, parts: [], size: 0 };
    open.parts.push(bytes);
    open.size += bytes.length;
  }
  close();
  return chunks;
};

/** The chunk numbers that hold the messages of these indexes. */
export const chunksFor = (firsts: readonly number[], indexes: readonly number[]): readonly number[] => {
  const wanted = new Set(indexes.map((index) => firsts.findLast((first) => first <= index)));
  return firsts.flatMap((first, c) => (wanted.has(first) ? [c] : []));
};

/** Messages by index, from an inline payload or from chunks by number; a chunk that was not given is passed over. */
export const decode = (payload: Payload, chunks: ReadonlyMap<number, Uint8Array>): ReadonlyMap<number, Message> => {
  const found = new Map<number, Message>();
  if (payload.kind === "inline") decodeFrom(payload.bytes, 0, found);
  else {
    for (const first of new Set(payload.firsts)) {
      const parts = payload.firsts.flatMap((f, c) => (f === first ? [chunks.get(c)] : []));
      if (parts.every((part) => part !== undefined)) decodeFrom(Buffer.concat(parts), first, found);
    }
  }
  return found;
};

/** Puts one chunk; unconditional, because an owner's chunks are written once, before anything names them. */
export const putChunk = (owner: string, number: number, bytes: Uint8Array, ttlSeconds: number | undefined): Write => ({
  kind: "put",
  key: payloadKey(owner, number),
  item: { b: bytes, ...(ttlSeconds !== undefined && { ttl: ttlSeconds }) },
  require: [],
  otherwise: "reload",
});

export const deleteChunk = (owner: string, number: number): Write => ({
  kind: "delete",
  key: payloadKey(owner, number),
  require: [],
  otherwise: "reload",
});

export const chunkBytes = (item: Item): Uint8Array | undefined => (item.b instanceof Uint8Array ? item.b : undefined);

const decodeFrom = (bytes: Uint8Array, first: number, into: Map<number, Message>): void => {
  const reader = { bytes, at: 0 };
  for (let index = first; reader.at < bytes.length; index++) {
    const header = take(reader);
    const body = take(reader);
    into.set(index, { properties: propertiesOf(header), body });
  }
};

interface Reader {
  readonly bytes: Uint8Array;
  at: number;
}

const take = (reader: Reader): Uint8Array => {
  const length = readVarint(reader);
  if (reader.at + length > reader.bytes.length) throw new Error("a payload ends in the middle of a message");
  const part = reader.bytes.subarray(reader.at, reader.at + length);
  reader.at += length;
  return part;
};

const varint = (value: number): Uint8Array => {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 0x7f; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 0x80);
  bytes.push(rest);
  return Uint8Array.from(bytes);
};

const readVarint = (reader: Reader): number => {
  let value = 0;
  for (let factor = 1; ; factor *= 128) {
    const byte = reader.bytes[reader.at++];
    if (byte === undefined) throw new Error("a payload ends in the middle of a length");
    value += (byte & 0x7f) * factor;
    if (byte < 0x80) return value;
  }
};

/** The short names that properties have in a payload. */
interface Header {
  readonly m?: string;
  readonly t?: string;
  readonly c?: string;
  readonly r?: string;
  readonly h?: Record<string, HeaderValue>;
  readonly e?: 1;
  readonly d?: 1;
  readonly l?: number;
  readonly p?: number;
  readonly u?: string;
  readonly x?: DeadLetter;
}

const headerOf = (p: Properties): Uint8Array => {
  const header: Header = {
    ...(p.messageId !== undefined && { m: p.messageId }),
    ...(p.contentType !== undefined && { t: p.contentType }),
    ...(p.correlationId !== undefined && { c: p.correlationId }),
    ...(p.replyTo !== undefined && { r: p.replyTo }),
    ...(p.headers !== undefined && { h: p.headers }),
    ...(p.bodyEncoding === "base64" && { e: 1 as const }),
    ...(p.deliveryMode === "transient" && { d: 1 as const }),
    ...(p.ttlSeconds !== undefined && { l: p.ttlSeconds }),
    ...(p.priority !== undefined && { p: p.priority }),
    ...(p.deduplicationId !== undefined && { u: p.deduplicationId }),
    ...(p.deadLetter !== undefined && { x: p.deadLetter }),
  };
  return Object.keys(header).length === 0 ? new Uint8Array() : Buffer.from(JSON.stringify(header));
};

const propertiesOf = (bytes: Uint8Array): Properties => {
  const h: Header = bytes.length === 0 ? {} : (JSON.parse(Buffer.from(bytes).toString("utf8")) as Header);
  return {
    bodyEncoding: h.e === 1 ? "base64" : "utf8",
    deliveryMode: h.d === 1 ? "transient" : "persistent",
    ...(h.m !== undefined && { messageId: h.m }),
    ...(h.t !== undefined && { contentType: h.t }),
    ...(h.c !== undefined && { correlationId: h.c }),
    ...(h.r !== undefined && { replyTo: h.r }),
    ...(h.h !== undefined && { headers: h.h }),
    ...(h.l !== undefined && { ttlSeconds: h.l }),
    ...(h.p !== undefined && { priority: h.p }),
    ...(h.u !== undefined && { deduplicationId: h.u }),
    ...(h.x !== undefined && { deadLetter: h.x }),
  };
};
