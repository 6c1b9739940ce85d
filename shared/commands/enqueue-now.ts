import { randomInt } from "node:crypto";
import { MESSAGES_PER_RUN, RECORDS_PER_COMMIT } from "../domain/limits.ts";
import type { Message } from "../domain/message.ts";
import { type PartitionRef, partitionFor, type Queue, wireSequence } from "../domain/queue.ts";
import { type Refusal, refuse } from "../domain/refusal.ts";
import { messageIdOf, type Run } from "../domain/run.ts";
import { capacityKey, deduplicationKey, idempotencyKey } from "../records/keys.ts";
import { addFlow, countEnqueued, type Flow, moveCapacity, noFlow, positionFrom } from "../records/queue.ts";
import { type First, putDeduplication, readDeduplication } from "../records/remembered.ts";
import { putNewRun } from "../records/run.ts";
import type { Key, Write } from "../records/write.ts";
import { type Failure, Unavailable } from "../store/port.ts";
import type { Context } from "./context.ts";
import { clearRoom, dropOldest, hasRoom, type Room, roomWrites } from "./drop-oldest.ts";
import { findFirsts } from "./duplicates.ts";
import type { Enqueue, EnqueueAnswer } from "./enqueue.ts";
import { findAnswer, rememberAnswer } from "./idempotency.ts";
import { buildRun } from "./new-run.ts";
import { deleteChunksOf } from "./payload.ts";
import { sweepEnded } from "./queues/sweep-ended.ts";

/** How often an enqueue begins anew: each duplicate, deletion and race for room that it meets costs one. */
const ROUNDS = 20;

/** What the call has learned from the attempts so far. */
interface Attempt {
  readonly queue: Queue;
  /** What the first message with a deduplication id became. */
  readonly duplicates: ReadonlyMap<string, First>;
  readonly room: Room | undefined;
  /** What time had ended was taken away, to make room. */
  readonly isSwept: boolean;
}

/** Puts messages on a queue at once: their runs, deduplication ids, capacity and the answer's memory in one commit. */
export const enqueueNow = async (context: Context, queue: Queue, call: Enqueue): Promise<EnqueueAnswer | Refusal> => {
  let attempt: Attempt = {
    queue,
    duplicates: await findDuplicates(context, queue, call),
    room: undefined,
    isSwept: false,
  };
  for (let round = 0; round < ROUNDS; round++) {
    const next = await tryOnce(context, call, attempt);
    if (!("queue" in next)) return next;
    attempt = next;
  }
  throw new Unavailable(`queue ${call.queue} changes at every attempt`);
};

const tryOnce = async (
  context: Context,
  call: Enqueue,
  attempt: Attempt,
): Promise<EnqueueAnswer | Refusal | Attempt> => {
  const { queue, duplicates, room } = attempt;
  const wanted = withoutDuplicates(call.messages, duplicates);
  // Positions count: what is refused takes none.
  const isFull = room === undefined && !(await hasRoom(context, queue, inflowOf(wanted)));
  if (isFull) return makeRoom(context, attempt, wanted);
  const runs = await placeRuns(context, queue, call, wanted);
  if (runs === undefined) {
    const again = await context.settings.find(context.store, call.queue, context.now(), true);
    return again === undefined
      ? refuse("not-found", `queue ${call.queue} does not exist`)
      : { ...attempt, queue: again, duplicates: await findDuplicates(context, again, call), room: undefined };
  }
  const nowMs = context.now();
  const firsts = firstsOf(queue, wanted, runs);
  const answer = answerOf(queue, call.messages, firsts, duplicates);
  const commit = await context.store.commit([
    ...runs.map(putNewRun),
    ...deduplicationWrites(queue, firsts, nowMs),
    ...moveCapacity(queue, inflowOf(wanted), room?.dropped),
    ...(room === undefined ? [] : roomWrites(room)),
    ...(call.idempotency === undefined ? [] : [rememberAnswer(call.idempotency, answer, nowMs)]),
  ]);
  if (commit.done) {
    if (room !== undefined) await clearRoom(context, queue, room);
    return answer;
  }
  await deleteChunksOf(
    context,
    runs.map((run) => run.payload),
  );
  return learn(context, call, attempt, wanted, commit.failures);
};

/** What the failed conditions tell: an answer, a refusal, or what the next attempt must know. */
const learn = async (
  context: Context,
  call: Enqueue,
  attempt: Attempt,
  wanted: readonly Message[],
  failures: readonly Failure[],
): Promise<EnqueueAnswer | Refusal | Attempt> => {
  const { queue } = attempt;
  const foundAt = (key: Key) => failures.find(({ write }) => write.key.pk === key.pk && write.key.sk === key.sk);
  if (call.idempotency !== undefined && foundAt(idempotencyKey(call.idempotency.principal, call.idempotency.key))) {
    return (await findAnswer(context, call.idempotency)) ?? attempt;
  }
  const duplicates = new Map(attempt.duplicates);
  for (const { properties } of wanted) {
    const id = properties.deduplicationId;
    const found = id === undefined ? undefined : foundAt(deduplicationKey(queue, id))?.found;
    if (id !== undefined && found !== undefined) duplicates.set(id, readDeduplication(found));
  }
  const isFull = foundAt(capacityKey(queue)) !== undefined;
  // What turns out to be a duplicate needs no room.
  const areFewer = duplicates.size > attempt.duplicates.size;
  if (areFewer || (!isFull && attempt.room === undefined)) return { ...attempt, duplicates, room: undefined };
  return makeRoom(context, { ...attempt, duplicates }, withoutDuplicates(call.messages, duplicates));
};

const makeRoom = async (context: Context, attempt: Attempt, wanted: readonly Message[]): Promise<Refusal | Attempt> => {
  const { queue } = attempt;
  const full = refuse("resource-limit-exceeded", `queue ${queue.name} is full`);
  if (queue.settings.overflow === "reject") {
    // What time has ended still takes room until someone meets it.
    if (attempt.isSwept || !(await sweepEnded(context, queue))) return full;
    return { ...attempt, isSwept: true };
  }
  const { inMessages, inBytes } = inflowOf(wanted);
  const others = wanted.length + Math.ceil(wanted.length / MESSAGES_PER_RUN) + 2;
  const records = Math.max(1, RECORDS_PER_COMMIT - Math.min(others, RECORDS_PER_COMMIT));
  const room = await dropOldest(context, queue, { messages: inMessages, bytes: inBytes }, records);
  return room === undefined ? full : { ...attempt, room };
};

const findDuplicates = async (
  context: Context,
  queue: Queue,
  { messages }: Enqueue,
): Promise<ReadonlyMap<string, First>> =>
  findFirsts(
    context,
    queue,
    messages.flatMap(({ properties: { deduplicationId: id } }) => (id === undefined ? [] : [id])),
  );

/** Messages to put: not those whose deduplication id was met before, here or on the queue. */
const withoutDuplicates = (
  messages: readonly Message[],
  duplicates: ReadonlyMap<string, First>,
): readonly Message[] => {
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
  call: Enqueue,
  wanted: readonly Message[],
): Promise<readonly Run[] | undefined> => {
  if (wanted.length === 0) return [];
  const { name, generation, settings } = queue;
  const partition = partitionFor(settings, call.session?.name, randomInt(settings.partitions));
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

const answerOf = (
  queue: Queue,
  messages: readonly Message[],
  firsts: ReadonlyMap<Message, First>,
  duplicates: ReadonlyMap<string, First>,
): EnqueueAnswer => {
  const byId = new Map(duplicates);
  for (const [{ properties }, first] of firsts) {
    if (properties.deduplicationId !== undefined) byId.set(properties.deduplicationId, first);
  }
  return {
    messages: messages.map((message) => {
      const own = firsts.get(message);
      const first = own ?? byId.get(message.properties.deduplicationId ?? "");
      if (first === undefined) throw new Error("a duplicate has no first");
      const { messageId, sequence } = first;
      return { messageId, queues: [{ queue: queue.name, sequence }], duplicate: own === undefined };
    }),
    completed: true,
  };
};

const deduplicationWrites = (queue: Queue, firsts: ReadonlyMap<Message, First>, nowMs: number): readonly Write[] =>
  [...firsts].flatMap(([{ properties }, first]) =>
    properties.deduplicationId === undefined ? [] : [putDeduplication(queue, properties.deduplicationId, first, nowMs)],
  );

const inflowOf = (messages: readonly Message[]): Flow =>
  addFlow(noFlow, {
    inMessages: messages.length,
    inBytes: messages.reduce((sum, { body }) => sum + body.length, 0),
    endsByItself: messages.some(({ properties }) => properties.ttlSeconds !== undefined),
  });
