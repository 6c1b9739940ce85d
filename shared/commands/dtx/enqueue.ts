import { randomBytes, randomInt } from "node:crypto";
import type { Branch } from "../../domain/branch.ts";
import type { EnqueueAnswer } from "../../domain/enqueued.ts";
import { MESSAGES_PER_RUN } from "../../domain/limits.ts";
import type { Message } from "../../domain/message.ts";
import type { Add } from "../../domain/operation.ts";
import { partitionFor, type Queue } from "../../domain/queue.ts";
import { isRefusal, type Refusal, refuse } from "../../domain/refusal.ts";
import { messageIdOf, type Payload } from "../../domain/run.ts";
import type { SessionRef } from "../../domain/session.ts";
import type { Xid } from "../../domain/xid.ts";
import { operationOwner } from "../../records/keys.ts";
import { encodeMessage } from "../../records/payload.ts";
import type { First } from "../../records/remembered.ts";
import type { Consistency } from "../../store/port.ts";
import type { Context } from "../context.ts";
import { findFirstsOf, withoutDuplicates } from "../duplicates.ts";
import { type Deferred, findAnswer, rememberAnswer } from "../idempotency.ts";
import { factsOf, newMessageIdBase } from "../new-run.ts";
import { deleteChunksOf, storeChunks } from "../payload.ts";
import type { Put, Target } from "../put.ts";
import { answerOf, type Became, type BecameOn } from "../put-answer.ts";
import { type Work, workIn } from "./work.ts";

/** Bodies that go inline: branch and run then stay within a write unit for a few of them. */
const INLINE_BYTES = 512;

/**
 * Puts messages on a branch: payloads first, then one write that lists them. A message whose deduplication id the queue
 * knows already is not put; one that takes its id meanwhile drops the copy at commit.
 */
export const enqueueInBranch = async (
  context: Context,
  put: Put,
  xid: Xid,
): Promise<EnqueueAnswer | Deferred | Refusal> => {
  const { session: by, idempotency } = put;
  if (by === undefined)
    return refuse("illegal-state", `work in branch ${xid} needs a session that is associated with it`);
  const listed = await Promise.all(put.targets.map((target) => listAdds(context, target, xid, by)));
  const adds = listed.flatMap((one) => one.adds);
  const answer = answerOf(
    put.messages,
    listed.map((one) => becameOn(one)),
    false,
  );
  const build = async (_: Branch, consistency: Consistency): Promise<Work<EnqueueAnswer | Deferred> | Refusal> => {
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

/** One queue's part of a call, as a branch lists it. */
export interface Listed extends Target {
  /** By deduplication id: what is on the queue already. */
  readonly duplicates: ReadonlyMap<string, First>;
  readonly wanted: readonly Message[];
  readonly adds: readonly Add[];
}

/** What a branch lists of one queue's part: the payloads are stored when this returns. */
export const listAdds = async (
  context: Context,
  target: Target,
  xid: Xid,
  by: SessionRef | undefined,
): Promise<Listed> => {
  const duplicates = await findFirstsOf(context, target.queue, target.messages);
  const wanted = withoutDuplicates(target.messages, duplicates);
  return { ...target, duplicates, wanted, adds: await addsFor(context, target.queue, xid, by?.name, wanted) };
};

/** What a branch makes of its messages; `sequenceOf` names the place of each copy of an add, once it has one. */
export const becameOn = (
  { queue, messages, wanted, adds, duplicates }: Listed,
  sequenceOf: (add: Add, index: number) => string | undefined = () => undefined,
): BecameOn => {
  const copies = adds.flatMap((add) => add.sizes.map((_, index) => ({ add, index })));
  const firsts = wanted.map((message, i): readonly [Message, Became] => {
    const copy = copies[i];
    if (copy === undefined) throw new Error("a message has no operation");
    const { add, index } = copy;
    const messageId = message.properties.messageId ?? messageIdOf(add.messageIdBase, index);
    const sequence = sequenceOf(add, index);
    return [message, { messageId, ...(sequence !== undefined && { sequence }) }];
  });
  return { queue, messages, firsts: new Map(firsts), duplicates };
};

/** The operations, a run each, with ids made before the first attempt. */
const addsFor = (
  context: Context,
  queue: Queue,
  xid: Xid,
  session: string | undefined,
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
