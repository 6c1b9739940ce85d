import { QUEUED_BYTES, REMEMBERED_SECONDS } from "../../domain/limits.ts";
import type { Message } from "../../domain/message.ts";
import { type Queue, type QueueRef, queueName } from "../../domain/queue.ts";
import type { Payload } from "../../domain/run.ts";
import { encodeMessage } from "../../records/payload.ts";
import type { QueuedMessage } from "../../transport/port.ts";
import type { Context } from "../context.ts";
import { storeChunks } from "../payload.ts";

/** The command queue's message that brings messages to a queue where they need not be stored before. */
export interface Transient {
  readonly kind: "transient";
  readonly id: string;
  readonly session?: string;
  readonly queue: QueueRef;
  /** The messages, encoded, in base64; what is too long for a message of the command queue lies in the table. */
  readonly bodies: string | Extract<Payload, { kind: "chunks" }>;
}

/** Beside the bodies. */
const FORM_BYTES = 1024;
const BODIES_BYTES = QUEUED_BYTES - FORM_BYTES;

/**
 * Hands messages to the command queue, in order with all that this session hands on for the same queue. Nothing is written
 * to the table, unless a message is too large for the command queue. `id` names the call: what is handed on twice under it
 * is applied once. Throws `Unavailable` when some of it may be lost.
 */
export const handOn = async (
  context: Context,
  id: string,
  session: string | undefined,
  targets: readonly { readonly queue: Queue; readonly messages: readonly Message[] }[],
): Promise<void> => {
  const queued: QueuedMessage[] = [];
  for (const { queue, messages } of targets) {
    // Without a session nothing is in order with anything else.
    const group = session === undefined ? `${id}#${queue.name}` : `${session}#${queueName(queue)}`;
    for (const [part, encoded] of partsOf(messages.map(encodeMessage)).entries()) {
      const own = `${id}#${queueName(queue)}#${part}`;
      const transient: Transient = {
        kind: "transient",
        id: own,
        ...(session !== undefined && { session }),
        queue: { name: queue.name, generation: queue.generation },
        bodies: await bodiesOf(context, own, encoded),
      };
      queued.push({ group, id: own, body: JSON.stringify(transient) });
    }
  }
  await context.commandQueue.send(queued);
};

const inBase64 = (bytes: number): number => Math.ceil(bytes / 3) * 4;

/** As many messages as fit a message of the command queue; one that does not is alone. */
const partsOf = (encoded: readonly Uint8Array[]): readonly (readonly Uint8Array[])[] => {
  const parts: Uint8Array[][] = [];
  let size = Number.POSITIVE_INFINITY;
  for (const one of encoded) {
    if (inBase64(size + one.length) > BODIES_BYTES || (parts.at(-1)?.length ?? 0) >= MESSAGES_PER_PART) {
      parts.push([]);
      size = 0;
    }
    parts.at(-1)?.push(one);
    size += one.length;
  }
  return parts;
};

/** A part is applied in one commit, with its deduplication ids. */
const MESSAGES_PER_PART = 100;

const bodiesOf = async (context: Context, id: string, encoded: readonly Uint8Array[]): Promise<Transient["bodies"]> => {
  const bytes = Buffer.concat(encoded);
  if (inBase64(bytes.length) <= BODIES_BYTES) return bytes.toString("base64");
  const ttlSeconds = Math.ceil(context.now() / 1000) + REMEMBERED_SECONDS;
  const payload = await storeChunks(context, id, encoded, ttlSeconds);
  if (payload.kind === "inline") throw new Error("chunks were asked for");
  return payload;
};
