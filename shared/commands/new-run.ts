import { randomBytes } from "node:crypto";
import { INLINE_RECORD_BYTES } from "../domain/limits.ts";
import type { Message } from "../domain/message.ts";
import type { Queue, QueueSettings } from "../domain/queue.ts";
import type { Payload, Run, RunKey } from "../domain/run.ts";
import { runOwner } from "../records/keys.ts";
import { encodeMessage } from "../records/payload.ts";
import { runItem } from "../records/run.ts";
import { itemBytes } from "../records/size.ts";
import type { Context } from "./context.ts";
import { storeChunks } from "./payload.ts";

/** What a run or a branch's operation says of its messages, beside their bodies. */
export interface MessageFacts {
  /** Body bytes of each. */
  readonly sizes: readonly number[];
  /** The most that any of them adds to its body in an answer, in bytes. */
  readonly overheadBytes: number;
  /** Of each message, its own and its queue's taken together; 0: none. */
  readonly ttlSeconds: readonly number[];
}

/** Kept free in a record with inline bodies, for what a lease adds to it: a delivery must not cost a second write unit. */
const LEASE_BYTES = 96;
/** A delivery's own fields in an answer (its id, which names the queue, foremost) are shorter than this. */
const DELIVERY_BYTES = 512;
/** Payloads of a queue with a retention outlast it by this: a branch may hold what it has delivered. */
const PAYLOAD_REMAINS_SECONDS = 7 * 86_400;

/**
 * The run that these messages become on a queue, at a position taken from its tail. Bodies that do not fit its record are
 * stored already; if the run is then not put, `commitNaming` takes them away again.
 */
export const buildRun = async (
  context: Context,
  queue: Queue,
  partition: number,
  position: number,
  messages: readonly Message[],
  nowMs: number,
): Promise<Run> => {
  const key = { name: queue.name, generation: queue.generation, partition, position };
  const facts = factsOf(queue.settings, messages);
  const base = newMessageIdBase();
  const encoded = messages.map(encodeMessage);
  const bytes = encoded.reduce((sum, one) => sum + one.length, 0);
  if (bytes < INLINE_RECORD_BYTES) {
    const run = newRun(queue, key, facts, base, { kind: "inline", bytes: Buffer.concat(encoded) }, nowMs);
    if (itemBytes(runItem(run)) + LEASE_BYTES <= INLINE_RECORD_BYTES) return run;
  }
  const ttlSeconds = payloadTtl(queue.settings, nowMs);
  return newRun(queue, key, facts, base, await storeChunks(context, runOwner(key), encoded, ttlSeconds), nowMs);
};

/** Names the messages of one run that bear no id of their own: 72 random bits. */
export const newMessageIdBase = (): string => randomBytes(9).toString("base64url");

export const factsOf = (settings: QueueSettings, messages: readonly Message[]): MessageFacts => ({
  sizes: messages.map(({ body }) => body.length),
  overheadBytes: messages.reduce((most, message) => Math.max(most, overheadOf(message)), 0),
  ttlSeconds: messages.map(({ properties }) => ttlOf(settings, properties.ttlSeconds)),
});

/** A run whose payload is in place already; its times to live begin now. */
export const newRun = (
  queue: Queue,
  key: RunKey,
  { sizes, overheadBytes, ttlSeconds }: MessageFacts,
  messageIdBase: string,
  payload: Payload,
  nowMs: number,
): Run => ({
  key,
  version: 1,
  createdAtMs: nowMs,
  messageIdBase,
  slots: sizes.map(() => ({ state: "available", deliveries: 0, visibleAtMs: 0 })),
  sizes,
  overheadBytes,
  expiries: ttlSeconds.map((ttl) => (ttl === 0 ? 0 : nowMs + ttl * 1000)),
  dropAtMs: dropAtMs(queue.settings, nowMs),
  holds: {},
  payload,
});

const dropAtMs = ({ retentionSeconds }: QueueSettings, nowMs: number): number =>
  retentionSeconds === null ? 0 : nowMs + retentionSeconds * 1000;

/** When the payload of a run may go by itself, in s of the epoch; without a retention it is deleted with its run. */
const payloadTtl = (settings: QueueSettings, nowMs: number): number | undefined =>
  settings.retentionSeconds === null
    ? undefined
    : Math.ceil(dropAtMs(settings, nowMs) / 1000) + PAYLOAD_REMAINS_SECONDS;

const ttlOf = ({ messageTtlSeconds }: QueueSettings, own: number | undefined): number => {
  if (own === undefined) return messageTtlSeconds ?? 0;
  return messageTtlSeconds === null ? own : Math.min(own, messageTtlSeconds);
};

const overheadOf = ({ properties, body }: Message): number => {
  const shown =
    properties.bodyEncoding === "base64"
      ? Math.ceil(body.length / 3) * 4
      : Buffer.byteLength(JSON.stringify(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString("utf8")));
  return shown - body.length + Buffer.byteLength(JSON.stringify(properties)) + DELIVERY_BYTES;
};
