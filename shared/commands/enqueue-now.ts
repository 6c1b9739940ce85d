import { randomInt } from "node:crypto";
import type { EnqueueAnswer } from "../domain/enqueued.ts";
import { MESSAGES_PER_RUN, RECORDS_PER_COMMIT } from "../domain/limits.ts";
import type { Message } from "../domain/message.ts";
import { isLimited, type PartitionRef, partitionFor, type Queue, wireSequence } from "../domain/queue.ts";
import { isRefusal, type Refusal, refuse } from "../domain/refusal.ts";
import { messageIdOf, type Payload, type Run } from "../domain/run.ts";
import type { SessionRef } from "../domain/session.ts";
import { deduplicationKey, idempotencyKey } from "../records/keys.ts";
import { addFlow, countEnqueued, type Flow, moveCapacity, noFlow, positionFrom } from "../records/queue.ts";
import { type First, putDeduplication, readDeduplication } from "../records/remembered.ts";
import { putNewRun } from "../records/run.ts";
import type { Key, Write } from "../records/write.ts";
import { type Failure, Unavailable } from "../store/port.ts";
import { besideOf } from "./beside.ts";
import type { Context } from "./context.ts";
import { clearRoom, countRoom, dropOldest, hasRoom, noRoom, type Room, roomWrites } from "./drop-oldest.ts";
import { findFirstsOf, withoutDuplicates } from "./duplicates.ts";
import { type Deferred, findAnswer, rememberAnswer } from "./idempotency.ts";
import { buildRun } from "./new-run.ts";
import { commitNaming, deleteChunksOf } from "./payload.ts";
import type { Put, Target } from "./put.ts";
import { answerOf } from "./put-answer.ts";
import { sendOnOldest } from "./queues/send-on-oldest.ts";
import { sweepEnded } from "./queues/sweep-ended.ts";

/** How often an enqueue begins anew: each duplicate and race for room that it meets costs one. */
const ROUNDS = 20;

/** What the call has learned of one queue from the attempts so far. */
interface Attempt extends Target {
  /** What the first message with a deduplication id became. */
  readonly duplicates: ReadonlyMap<string, First>;
}

/** Limited queues have room for it: as they are, or when `room` is made in the same commit. */
interface Fitting extends Attempt {
  readonly wanted: readonly Message[];
  readonly room: Room | undefined;
}

/** What is about to stand on one queue. */
interface Placed extends Fitting {
  readonly runs: readonly Run[];
  readonly firsts: ReadonlyMap<Message, First>;
}

/**
 * Puts messages on their queues at once: runs, deduplication ids, capacity and the answer's memory in one commit. `gone`: one
 * of the queues was deleted, and nothing was put. `large`: it is more than one commit takes.
 */
export const enqueueNow = async (
  context: Context,
  put: Put,
): Promise<EnqueueAnswer | Deferred | Refusal | "gone" | "large"> => {
  let attempts: readonly Attempt[] = await Promise.all(
    put.targets.map(async (target) => ({
      ...target,
      duplicates: await findFirstsOf(context, target.queue, target.messages),
    })),
  );
  if (!(await areDuplicatesOfNow(context, attempts))) return "gone";
  for (let round = 0; round < ROUNDS; round++) {
    // Positions count: what is refused, and what is known already, takes none.
    const fitting = await findRoom(context, attempts);
    if (fitting === "large" || isRefusal(fitting)) return fitting;
    const placed = await placeAll(context, put, fitting);
    if (placed === "gone") return "gone";
    const answer = answerOf(put.messages, [...placed, ...put.handedOn.map(({ became }) => became)], true);
    const commit = await commitNaming(context, payloadsOf(placed), [
      ...writesOf(put, placed, answer, context.now()),
      ...besideOf(
        context,
        { kind: "enqueued", answer },
        { isHandedOn: put.handedOn.some(({ target }) => target !== undefined) },
      ),
    ]);
    if (commit.done) {
      for (const { queue, room } of placed) if (room !== undefined) await clearRoom(context, queue, room);
      return answer;
    }
    const known = await findRepeat(context, put, commit.failures);
    if (known !== undefined) return known;
    attempts = placed.map(({ queue, messages, duplicates }) => ({
      queue,
      messages,
      duplicates: new Map([...duplicates, ...takenIn(queue, messages, commit.failures)]),
    }));
  }
  throw new Unavailable("a queue changes at every attempt");
};

/**
 * Where nothing but duplicates goes, no tail tells that the queue was deleted, and declared again, since its settings were
 * read: then they are duplicates of another life.
 */
const areDuplicatesOfNow = async (context: Context, attempts: readonly Attempt[]): Promise<boolean> => {
  const untouched = attempts.filter(
    ({ messages, duplicates }) => duplicates.size > 0 && withoutDuplicates(messages, duplicates).length === 0,
  );
  const found = await Promise.all(
    untouched.map(({ queue }) => context.settings.find(context.store, queue.name, context.now(), true)),
  );
  return untouched.every(({ queue }, i) => found[i]?.generation === queue.generation);
};

/** Finds room on every limited queue, as things are: rings drop their oldest, what time has ended goes from the others. */
const findRoom = async (
  context: Context,
  attempts: readonly Attempt[],
): Promise<readonly Fitting[] | Refusal | "large"> => {
  const asTheyAre = attempts.map(
    (one): Fitting => ({ ...one, wanted: withoutDuplicates(one.messages, one.duplicates), room: undefined }),
  );
  const areFree = await Promise.all(asTheyAre.map(({ queue, wanted }) => hasRoom(context, queue, inflowOf(wanted))));
  // Rings last: they drop nothing for a call that another queue refuses.
  const full = asTheyAre
    .filter((_, i) => areFree[i] === false)
    .toSorted((a, b) => Number(isRing(a)) - Number(isRing(b)));
  let records = asTheyAre.reduce((sum, one) => sum + recordsOf(one), RECORDS_BESIDE);
  // Each that is full takes one record more, at least.
  if (records + full.length > RECORDS_AT_MOST) return "large";
  const rooms = new Map<Queue, Room>();
  for (const [i, one] of full.entries()) {
    const room = await makeRoom(context, one, Math.max(1, RECORDS_PER_COMMIT - records - (full.length - i - 1)));
    if (isRefusal(room)) return room;
    records += room.changes.length;
    rooms.set(one.queue, room);
  }
  for (const room of rooms.values()) await countRoom(context, room);
  return asTheyAre.map((one) => ({ ...one, room: rooms.get(one.queue) }));
};

const isRing = ({ queue }: Attempt): boolean => queue.settings.overflow === "ring";

/** What AWS takes in one transaction. */
const RECORDS_AT_MOST = 100;
/** The answer's memory, and the two records that close a command. */
const RECORDS_BESIDE = 3;

/** Records of one queue in the commit: runs, deduplication ids, capacity. */
const recordsOf = ({ queue, wanted }: Fitting): number => {
  const ids = wanted.filter(({ properties }) => properties.deduplicationId !== undefined).length;
  return Math.ceil(wanted.length / MESSAGES_PER_RUN) + ids + (isLimited(queue.settings) ? 1 : 0);
};

const makeRoom = async (context: Context, { queue, wanted }: Fitting, records: number): Promise<Room | Refusal> => {
  const inflow = inflowOf(wanted);
  const full = refuse("resource-limit-exceeded", `queue ${queue.name} is full`);
  if (queue.settings.overflow === "ring") {
    const need = { messages: inflow.inMessages, bytes: inflow.inBytes };
    await sendOnOldest(context, queue, need);
    return (await dropOldest(context, queue, need, records)) ?? full;
  }
  // What time has ended still takes room until someone meets it.
  const isThere = (await sweepEnded(context, queue)) && (await hasRoom(context, queue, inflow));
  return isThere ? noRoom : full;
};

const placeAll = async (
  context: Context,
  put: Put,
  fitting: readonly Fitting[],
): Promise<readonly Placed[] | "gone"> => {
  const placed: (Placed | undefined)[] = [];
  // Large bodies are written for a few queues at a time: all of them would not fit in memory.
  const bytes = fitting.reduce((sum, { wanted }) => sum + inflowOf(wanted).inBytes, 0);
  const atOnce = bytes > BYTES_AT_ONCE ? QUEUES_AT_ONCE : fitting.length;
  for (let at = 0; at < fitting.length; at += atOnce) {
    placed.push(...(await Promise.all(fitting.slice(at, at + atOnce).map((one) => place(context, put, one)))));
  }
  const there = placed.filter((one) => one !== undefined);
  if (there.length === placed.length) return there;
  await deleteChunksOf(context, payloadsOf(there));
  return "gone";
};

const BYTES_AT_ONCE = 16 * 1024 * 1024;
const QUEUES_AT_ONCE = 4;

const place = async (context: Context, put: Put, fitting: Fitting): Promise<Placed | undefined> => {
  const { queue, wanted } = fitting;
  const runs = await placeRuns(context, queue, put.session, wanted);
  return runs && { ...fitting, runs, firsts: firstsOf(queue, wanted, runs) };
};

const writesOf = (
  { idempotency }: Put,
  placed: readonly Placed[],
  answer: EnqueueAnswer,
  nowMs: number,
): readonly Write[] => [
  ...placed.flatMap((one) => writesOn(one, nowMs)),
  ...(idempotency === undefined ? [] : [rememberAnswer(idempotency, answer, nowMs)]),
];

const writesOn = ({ queue, wanted, runs, firsts, room }: Placed, nowMs: number): readonly Write[] => [
  ...runs.map(putNewRun),
  ...[...firsts].flatMap(([message, first]) => {
    const id = message.properties.deduplicationId;
    return id === undefined ? [] : [putDeduplication(queue, id, first, nowMs)];
  }),
  ...moveCapacity(queue, inflowOf(wanted), room?.dropped),
  ...(room === undefined ? [] : roomWrites(room)),
];

const payloadsOf = (placed: readonly Placed[]): readonly Payload[] =>
  placed.flatMap(({ runs }) => runs.map((run) => run.payload));

const isAt = ({ write }: Failure, key: Key): boolean => write.key.pk === key.pk && write.key.sk === key.sk;

/** The same request was answered by its twin. */
const findRepeat = async (
  context: Context,
  { idempotency }: Put,
  failures: readonly Failure[],
): Promise<EnqueueAnswer | Deferred | Refusal | undefined> => {
  if (idempotency === undefined) return undefined;
  const key = idempotencyKey(idempotency.principal, idempotency.key);
  return failures.some((failure) => isAt(failure, key)) ? findAnswer(context, idempotency) : undefined;
};

/** The deduplication ids that others took meanwhile, and what their messages became. */
const takenIn = (
  queue: Queue,
  messages: readonly Message[],
  failures: readonly Failure[],
): readonly (readonly [string, First])[] =>
  messages.flatMap(({ properties: { deduplicationId: id } }) => {
    const key = id === undefined ? undefined : deduplicationKey(queue, id);
    const found = key && failures.find((failure) => isAt(failure, key))?.found;
    return id === undefined || found === undefined ? [] : [[id, readDeduplication(found)] as const];
  });

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
