import { randomInt } from "node:crypto";
import { MESSAGES_PER_RUN, RECORDS_PER_COMMIT } from "../domain/limits.ts";
import type { Message } from "../domain/message.ts";
import { isLimited, type PartitionRef, partitionFor, type Queue, wireSequence } from "../domain/queue.ts";
import { type Refusal, refuse } from "../domain/refusal.ts";
import { messageIdOf, type Run } from "../domain/run.ts";
import type { SessionRef } from "../domain/session.ts";
import { capacityKey, deduplicationKey, idempotencyKey } from "../records/keys.ts";
import { addFlow, countEnqueued, type Flow, moveCapacity, noFlow, positionFrom } from "../records/queue.ts";
import { type First, putDeduplication, readDeduplication } from "../records/remembered.ts";
import { putNewRun } from "../records/run.ts";
import type { Key, Write } from "../records/write.ts";
import { type Failure, Unavailable } from "../store/port.ts";
import type { Context } from "./context.ts";
import { clearRoom, dropOldest, hasRoom, type Room, roomWrites } from "./drop-oldest.ts";
import { findFirsts } from "./duplicates.ts";
import { findAnswer, rememberAnswer } from "./idempotency.ts";
import { buildRun } from "./new-run.ts";
import { deleteChunksOf } from "./payload.ts";
import type { EnqueueAnswer, Put, Target } from "./put.ts";
import { answerOf } from "./put-answer.ts";
import { sweepEnded } from "./queues/sweep-ended.ts";

/** How often an enqueue begins anew: each duplicate and race for room that it meets costs one. */
const ROUNDS = 20;

/** What the call has learned of one queue from the attempts so far. */
interface Attempt extends Target {
  /** What the first message with a deduplication id became. */
  readonly duplicates: ReadonlyMap<string, First>;
  readonly room: Room | undefined;
  /** What time had ended was taken away, to make room. */
  readonly isSwept: boolean;
}

/** What is about to stand on one queue. */
interface Placed extends Attempt {
  readonly wanted: readonly Message[];
  readonly runs: readonly Run[];
  readonly firsts: ReadonlyMap<Message, First>;
}

/**
 * Puts messages on their queues at once: runs, deduplication ids, capacity and the answer's memory in one commit. `gone`: one
 * of the queues was deleted, and nothing was put. `large`: it is more than one commit takes.
 */
export const enqueueNow = async (context: Context, put: Put): Promise<EnqueueAnswer | Refusal | "gone" | "large"> => {
  let attempts: readonly Attempt[] = await Promise.all(put.targets.map((target) => begin(context, target)));
  for (let round = 0; round < ROUNDS; round++) {
    if (recordsOf(attempts) > RECORDS_AT_MOST) return "large";
    const next = await tryOnce(context, put, attempts);
    if (!Array.isArray(next)) return next as EnqueueAnswer | Refusal | "gone";
    attempts = next;
  }
  throw new Unavailable("a queue changes at every attempt");
};

/** Positions count: what is known already takes none. */
const begin = async (context: Context, target: Target): Promise<Attempt> => {
  const ids = target.messages.flatMap(({ properties: { deduplicationId: id } }) => (id === undefined ? [] : [id]));
  return { ...target, duplicates: await findFirsts(context, target.queue, ids), room: undefined, isSwept: false };
};

const tryOnce = async (
  context: Context,
  put: Put,
  attempts: readonly Attempt[],
): Promise<EnqueueAnswer | Refusal | "gone" | readonly Attempt[]> => {
  const full = await findFull(context, attempts);
  if (full !== undefined) return withRoom(context, attempts, full);
  const placed = await placeAll(context, put, attempts);
  if (placed === "gone") return "gone";
  const nowMs = context.now();
  const answer = answerOf(put.messages, placed);
  const commit = await context.store.commit([
    ...placed.flatMap((one) => writesOf(one, nowMs)),
    ...(put.idempotency === undefined ? [] : [rememberAnswer(put.idempotency, answer, nowMs)]),
  ]);
  if (commit.done) {
    for (const { queue, room } of placed) if (room !== undefined) await clearRoom(context, queue, room);
    return answer;
  }
  await deletePayloads(context, placed);
  return learn(context, put, placed, commit.failures);
};

/** A limited queue without room, as things are. */
const findFull = async (context: Context, attempts: readonly Attempt[]): Promise<Attempt | undefined> => {
  const areFree = await Promise.all(
    attempts.map(
      async (one) => one.room !== undefined || (await hasRoom(context, one.queue, inflowOf(withoutDuplicates(one)))),
    ),
  );
  return attempts.find((_, i) => areFree[i] === false);
};

const placeAll = async (
  context: Context,
  put: Put,
  attempts: readonly Attempt[],
): Promise<readonly Placed[] | "gone"> => {
  const placed = await Promise.all(attempts.map((one) => place(context, put, one)));
  const there = placed.filter((one) => one !== undefined);
  if (there.length === placed.length) return there;
  await deletePayloads(context, there);
  return "gone";
};

const place = async (context: Context, put: Put, attempt: Attempt): Promise<Placed | undefined> => {
  const { queue } = attempt;
  const wanted = withoutDuplicates(attempt);
  const runs = await placeRuns(context, queue, put.session, wanted);
  return runs && { ...attempt, wanted, runs, firsts: firstsOf(queue, wanted, runs) };
};

const writesOf = ({ queue, wanted, runs, firsts, room }: Placed, nowMs: number): readonly Write[] => [
  ...runs.map(putNewRun),
  ...[...firsts].flatMap(
    ([
      {
        properties: { deduplicationId: id },
      },
      first,
    ]) => (id === undefined ? [] : [putDeduplication(queue, id, first, nowMs)]),
  ),
  ...moveCapacity(queue, inflowOf(wanted), room?.dropped),
  ...(room === undefined ? [] : roomWrites(room)),
];

const deletePayloads = (context: Context, placed: readonly Placed[]): Promise<void> =>
  deleteChunksOf(
    context,
    placed.flatMap(({ runs }) => runs.map((run) => run.payload)),
  );

/** What the failed conditions tell: an answer, a refusal, or what the next attempt must know. */
const learn = async (
  context: Context,
  put: Put,
  placed: readonly Placed[],
  failures: readonly Failure[],
): Promise<EnqueueAnswer | Refusal | readonly Attempt[]> => {
  const foundAt = (key: Key) => failures.find(({ write }) => write.key.pk === key.pk && write.key.sk === key.sk);
  if (put.idempotency !== undefined && foundAt(idempotencyKey(put.idempotency.principal, put.idempotency.key))) {
    return (await findAnswer(context, put.idempotency)) ?? placed;
  }
  const attempts = placed.map(({ duplicates: known, ...one }): Attempt => {
    const duplicates = new Map(known);
    for (const { properties } of one.wanted) {
      const id = properties.deduplicationId;
      const found = id === undefined ? undefined : foundAt(deduplicationKey(one.queue, id))?.found;
      if (id !== undefined && found !== undefined) duplicates.set(id, readDeduplication(found));
    }
    return { ...one, duplicates };
  });
  // What turns out to be a duplicate needs no room.
  const areFewer = attempts.some(({ duplicates }, i) => duplicates.size > (placed[i]?.duplicates.size ?? 0));
  const full = attempts.find(({ queue, room }) => foundAt(capacityKey(queue)) !== undefined || room !== undefined);
  if (areFewer || full === undefined) return attempts.map((one) => ({ ...one, room: undefined }));
  return withRoom(context, attempts, full);
};

/** The same attempts with room made on the one that is full; a refusal when there can be none. */
const withRoom = async (
  context: Context,
  attempts: readonly Attempt[],
  full: Attempt,
): Promise<Refusal | readonly Attempt[]> => {
  const made = await makeRoom(context, attempts, full);
  return "queue" in made ? attempts.map((one) => (one === full ? made : one)) : made;
};

const makeRoom = async (
  context: Context,
  attempts: readonly Attempt[],
  attempt: Attempt,
): Promise<Refusal | Attempt> => {
  const { queue } = attempt;
  const full = refuse("resource-limit-exceeded", `queue ${queue.name} is full`);
  if (queue.settings.overflow === "reject") {
    // What time has ended still takes room until someone meets it.
    if (attempt.isSwept || !(await sweepEnded(context, queue))) return full;
    return { ...attempt, isSwept: true };
  }
  const { inMessages, inBytes } = inflowOf(withoutDuplicates(attempt));
  const room = await dropOldest(
    context,
    queue,
    { messages: inMessages, bytes: inBytes },
    recordsLeft(attempts, attempt),
  );
  return room === undefined ? full : { ...attempt, room };
};

/** Records of the one commit that making room on a queue may take. */
const recordsLeft = (attempts: readonly Attempt[], full: Attempt): number => {
  const others = attempts.map((one) => (one === full ? { ...one, room: undefined } : one));
  return Math.max(1, RECORDS_PER_COMMIT - recordsOf(others));
};

/** What AWS takes in one transaction. */
const RECORDS_AT_MOST = 100;

/** Records of the one commit: runs, deduplication ids, capacity, what makes room; and the answer's memory. */
const recordsOf = (attempts: readonly Attempt[]): number =>
  attempts.reduce((sum, attempt) => {
    const wanted = withoutDuplicates(attempt);
    const ids = wanted.filter(({ properties }) => properties.deduplicationId !== undefined).length;
    const capacity = isLimited(attempt.queue.settings) ? 1 : 0;
    return sum + Math.ceil(wanted.length / MESSAGES_PER_RUN) + ids + capacity + (attempt.room?.changes.length ?? 0);
  }, 1);

/** Messages to put: not those whose deduplication id was met before, in the call or on the queue. */
const withoutDuplicates = ({ messages, duplicates }: Attempt): readonly Message[] => {
  const met = new Set(duplicates.keys());
  return messages.filter(({ properties: { deduplicationId: id } }) => {
    if (id === undefined) return true;
    const isNew = !met.has(id);
    met.add(id);
    return isNew;
  });
};

/** The runs at positions taken from the tail, their payloads stored; undefined when the queue was deleted. */
const placeRuns = async (
  context: Context,
  queue: Queue,
  session: SessionRef | undefined,
  wanted: readonly Message[],
): Promise<readonly Run[] | undefined> => {
  if (wanted.length === 0) return [];
  const { name, generation, settings } = queue;
  const partition = partitionFor(settings, session?.name, randomInt(settings.partitions));
  const at: PartitionRef = { name, generation, partition };
  const counted = await context.store.count(countEnqueued(at, wanted.length));
  if (counted === undefined) return undefined;
  const position = positionFrom(counted, wanted.length);
  const starts = Array.from({ length: Math.ceil(wanted.length / MESSAGES_PER_RUN) }, (_, i) => i * MESSAGES_PER_RUN);
  const nowMs = context.now();
  return Promise.all(
    starts.map((start) =>
      buildRun(context, queue, partition, position + start, wanted.slice(start, start + MESSAGES_PER_RUN), nowMs),
    ),
  );
};

/** What each message that is put becomes. */
const firstsOf = (queue: Queue, wanted: readonly Message[], runs: readonly Run[]): ReadonlyMap<Message, First> =>
  new Map(
    wanted.map((message, i) => {
      const run = runs[Math.floor(i / MESSAGES_PER_RUN)];
      if (run === undefined) throw new Error("a message has no run");
      const index = i % MESSAGES_PER_RUN;
      return [
        message,
        {
          messageId: message.properties.messageId ?? messageIdOf(run.messageIdBase, index),
          sequence: wireSequence(run.key.position + index, run.key.partition, queue.settings.partitions),
        },
      ];
    }),
  );

const inflowOf = (messages: readonly Message[]): Flow =>
  addFlow(noFlow, {
    inMessages: messages.length,
    inBytes: messages.reduce((sum, { body }) => sum + body.length, 0),
    endsByItself: messages.some(({ properties }) => properties.ttlSeconds !== undefined),
  });
