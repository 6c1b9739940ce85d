import { randomBytes, randomInt } from "node:crypto";
import type { Branch } from "../../domain/branch.ts";
import { MESSAGES_PER_RUN } from "../../domain/limits.ts";
import type { Message } from "../../domain/message.ts";
import type { Add } from "../../domain/operation.ts";
import { partitionFor, type Queue } from "../../domain/queue.ts";
import { isRefusal, type Refusal, refuse } from "../../domain/refusal.ts";
import { messageIdOf, type Payload } from "../../domain/run.ts";
import type { Xid } from "../../domain/xid.ts";
import { deduplicationKey, operationOwner } from "../../records/keys.ts";
import { encodeMessage } from "../../records/payload.ts";
import { type First, ifInForce, readDeduplication } from "../../records/remembered.ts";
import type { Consistency } from "../../store/port.ts";
import type { Context } from "../context.ts";
import type { Enqueue, EnqueueAnswer, Enqueued } from "../enqueue.ts";
import { findAnswer, rememberAnswer } from "../idempotency.ts";
import { factsOf, newMessageIdBase } from "../new-run.ts";
import { deleteChunksOf, storeChunks } from "../payload.ts";
import { type Work, workIn } from "./work.ts";

/** Bodies that go inline: branch and run then stay within a write unit for a few of them. */
const INLINE_BYTES = 512;

/**
 * Puts messages on a branch: payloads first, then one write that lists them. A message whose deduplication id the queue
 * knows already is not put; one that takes its id meanwhile drops the copy at commit.
 */
export const enqueueInBranch = async (
  context: Context,
  queue: Queue,
  call: Enqueue,
  xid: Xid,
): Promise<EnqueueAnswer | Refusal> => {
  const by = call.session;
  if (by === undefined)
    return refuse("illegal-state", `work in branch ${xid} needs a session that is associated with it`);
  const duplicates = await findDuplicates(context, queue, call.messages);
  const wanted = call.messages.filter((message) => !duplicates.has(message));
  const adds = await addsFor(context, queue, xid, by.name, wanted);
  const answer = answerOf(queue, call.messages, wanted, adds, duplicates);
  const build = async (_: Branch, consistency: Consistency): Promise<Work<EnqueueAnswer> | Refusal> => {
    const { idempotency } = call;
    if (idempotency === undefined) return { operations: adds, beside: [], result: answer };
    // On a second attempt the same request may have been answered by its twin.
    const known = consistency === "strong" ? await findAnswer(context, idempotency) : undefined;
    if (known !== undefined) return isRefusal(known) ? known : { operations: [], beside: [], result: known };
    return { operations: adds, beside: [rememberAnswer(idempotency, answer, context.now())], result: answer };
  };
  const done = await workIn(context, xid, by, build);
  if (done !== answer) {
    await deleteChunksOf(
      context,
      adds.map((add) => add.payload),
    );
  }
  return done;
};

/** Messages whose deduplication id is known to the queue, or stands earlier in the call. */
const findDuplicates = async (
  context: Context,
  queue: Queue,
  messages: readonly Message[],
): Promise<ReadonlyMap<Message, First | Message>> => {
  const byId = new Map<string, Message>();
  const duplicates = new Map<Message, First | Message>();
  for (const message of messages) {
    const id = message.properties.deduplicationId;
    const earlier = id === undefined ? undefined : byId.get(id);
    if (earlier !== undefined) duplicates.set(message, earlier);
    else if (id !== undefined) byId.set(id, message);
  }
  const ids = [...byId.keys()];
  const items = await context.store.readAll(ids.map((id) => deduplicationKey(queue, id)));
  const known = new Map(
    ids.flatMap((id, i) => {
      const item = ifInForce(items[i], context.now());
      return item === undefined ? [] : [[id, readDeduplication(item)] as const];
    }),
  );
  for (const message of messages) {
    const first = known.get(message.properties.deduplicationId ?? "");
    if (first !== undefined && message.properties.deduplicationId !== undefined) duplicates.set(message, first);
  }
  return duplicates;
};

/** The operations, a run each, with ids made before the first attempt. */
const addsFor = (
  context: Context,
  queue: Queue,
  xid: Xid,
  session: string,
  messages: readonly Message[],
): Promise<readonly Add[]> => {
  const partition = partitionFor(queue.settings, session, randomInt(queue.settings.partitions));
  const starts = Array.from({ length: Math.ceil(messages.length / MESSAGES_PER_RUN) }, (_, i) => i * MESSAGES_PER_RUN);
  return Promise.all(
    starts.map((start) => addFor(context, queue, xid, partition, messages.slice(start, start + MESSAGES_PER_RUN))),
  );
};

const addFor = async (
  context: Context,
  queue: Queue,
  xid: Xid,
  partition: number,
  messages: readonly Message[],
): Promise<Add> => {
  const id = randomBytes(9).toString("base64url");
  return {
    kind: "add",
    id,
    queue: queue.name,
    generation: queue.generation,
    partition,
    ...factsOf(queue.settings, messages),
    messageIdBase: newMessageIdBase(),
    deduplications: messages.flatMap(({ properties: { deduplicationId, messageId } }, index) =>
      deduplicationId === undefined
        ? []
        : [
            messageId === undefined
              ? ([index, deduplicationId] as const)
              : ([index, deduplicationId, messageId] as const),
          ],
    ),
    payload: await payloadOf(context, xid, id, messages),
    ...(queue.settings.deadLetterQueue !== null && { deadLetterQueue: queue.settings.deadLetterQueue }),
  };
};

const payloadOf = async (context: Context, xid: Xid, id: string, messages: readonly Message[]): Promise<Payload> => {
  const encoded = messages.map(encodeMessage);
  const bytes = encoded.reduce((sum, one) => sum + one.length, 0);
  if (bytes <= INLINE_BYTES) return { kind: "inline", bytes: Buffer.concat(encoded) };
  return storeChunks(context, operationOwner(xid, id), encoded, undefined);
};

const answerOf = (
  queue: Queue,
  messages: readonly Message[],
  wanted: readonly Message[],
  adds: readonly Add[],
  duplicates: ReadonlyMap<Message, First | Message>,
): EnqueueAnswer => {
  const ids = new Map(
    wanted.map((message, i) => {
      const base = adds[Math.floor(i / MESSAGES_PER_RUN)]?.messageIdBase ?? "";
      return [message, message.properties.messageId ?? messageIdOf(base, i % MESSAGES_PER_RUN)];
    }),
  );
  const enqueued = (message: Message): Enqueued => {
    const first = duplicates.get(message);
    if (first === undefined)
      return { messageId: ids.get(message) ?? "", queues: [{ queue: queue.name }], duplicate: false };
    if ("sequence" in first) {
      return { messageId: first.messageId, queues: [{ queue: queue.name, sequence: first.sequence }], duplicate: true };
    }
    return { ...enqueued(first), duplicate: true };
  };
  return { messages: messages.map(enqueued), completed: false };
};
