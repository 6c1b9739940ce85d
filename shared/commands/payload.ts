import type { Message } from "../domain/message.ts";
import type { Payload } from "../domain/run.ts";
import { payloadKey } from "../records/keys.ts";
import { chunk, chunkBytes, chunksFor, decode, deleteChunk, putChunk } from "../records/payload.ts";
import type { Write } from "../records/write.ts";
import type { Commit, Consistency } from "../store/port.ts";
import { Superseded } from "./asynchronous/guarded-store.ts";
import type { Context } from "./context.ts";

/** Chunks that are written or read at the same time: a few megabytes in flight. */
const AT_ONCE = 8;

/** Puts encoded messages under an owner, before anything names them. `ttlSeconds`: when they may go by themselves (epoch). */
export const storeChunks = async (
  context: Context,
  owner: string,
  encoded: readonly Uint8Array[],
  ttlSeconds: number | undefined,
): Promise<Payload> => {
  const chunks = chunk(encoded);
  await eachOf(chunks, async ({ bytes }, number) => {
    await context.store.commit([putChunk(owner, number, bytes, ttlSeconds)]);
  });
  return { kind: "chunks", owner, firsts: chunks.map(({ first }) => first) };
};

/**
 * The messages of these indexes. Chunks are read eventually consistent first, at half the price, and strongly when one is
 * not there yet; a message missing after that is left out.
 */
export const loadMessages = async (
  context: Context,
  payload: Payload,
  indexes: readonly number[],
): Promise<ReadonlyMap<number, Message>> => {
  if (payload.kind === "inline") return decode(payload, new Map());
  const numbers = chunksFor(payload.firsts, indexes);
  const chunks = new Map<number, Uint8Array>();
  await readChunks(context, payload.owner, numbers, "eventual", chunks);
  await readChunks(
    context,
    payload.owner,
    numbers.filter((number) => !chunks.has(number)),
    "strong",
    chunks,
  );
  return decode(payload, chunks);
};

/** All messages of a payload whose chunks are there, in order; an empty map when any is gone. */
export const loadAllMessages = async (
  context: Context,
  payload: Extract<Payload, { kind: "chunks" }>,
): Promise<ReadonlyMap<number, Message>> => {
  const chunks = new Map<number, Uint8Array>();
  const numbers = payload.firsts.map((_, number) => number);
  await readChunks(context, payload.owner, numbers, "strong", chunks);
  return chunks.size === numbers.length ? decode(payload, chunks) : new Map();
};

/**
 * Deletes the chunks that these payloads are; inline ones went with their record. Lost on a crash in between: nothing names
 * them any more, they only cost room.
 */
export const deleteChunksOf = async (context: Context, payloads: readonly Payload[]): Promise<void> => {
  const chunks = payloads.flatMap((payload) =>
    payload.kind === "inline" ? [] : payload.firsts.map((_, number) => ({ owner: payload.owner, number })),
  );
  await eachOf(chunks, async ({ owner, number }) => {
    await context.store.commit([deleteChunk(owner, number)]);
  });
};

/**
 * Commits what names these payloads. When it is refused, or another attempt at the same thing was first, nothing will ever
 * name them: their chunks are deleted. When it is in doubt they stay.
 */
export const commitNaming = async (
  context: Context,
  payloads: readonly Payload[],
  writes: readonly Write[],
): Promise<Commit> => {
  try {
    const commit = await context.store.commit(writes);
    if (!commit.done) await deleteChunksOf(context, payloads);
    return commit;
  } catch (error) {
    if (error instanceof Superseded) await deleteChunksOf(context, payloads);
    throw error;
  }
};

const readChunks = (
  context: Context,
  owner: string,
  numbers: readonly number[],
  consistency: Consistency,
  into: Map<number, Uint8Array>,
): Promise<void> =>
  eachOf(numbers, async (number) => {
    const item = await context.store.read(payloadKey(owner, number), consistency);
    const bytes = item && chunkBytes(item);
    if (bytes !== undefined) into.set(number, bytes);
  });

/** Does the work for each, a few at a time. */
export const eachOf = async <T>(all: readonly T[], work: (one: T, index: number) => Promise<void>): Promise<void> => {
  for (let at = 0; at < all.length; at += AT_ONCE) {
    await Promise.all(all.slice(at, at + AT_ONCE).map((one, i) => work(one, at + i)));
  }
};
