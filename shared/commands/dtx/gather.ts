import type { Outcome } from "../../domain/branch.ts";
import type { Message } from "../../domain/message.ts";
import type { Add, Operation } from "../../domain/operation.ts";
import { isLimited, type PartitionRef, type Queue, type QueueRef, queueName } from "../../domain/queue.ts";
import { messageIdOf } from "../../domain/run.ts";
import { deletedQueueKey, partitionName } from "../../records/keys.ts";
import { countEnqueued, countSettled, positionFrom, readDeletedQueue } from "../../records/queue.ts";
import { prefixWithin } from "../change-run.ts";
import type { Context } from "../context.ts";
import { dropOldestNow, freeCapacity } from "../drop-oldest.ts";
import { buildRun } from "../new-run.ts";
import { loadMessages } from "../payload.ts";
import { partitionOfAdd, type Redirect, type Removal } from "./effects.ts";

/** The live queues that operations name, by name and generation; one that is gone or was declared anew is left out. */
export const loadQueues = async (
  context: Context,
  operations: readonly Operation[],
): Promise<ReadonlyMap<string, Queue>> => {
  const refs = new Map<string, QueueRef>();
  for (const operation of operations) {
    const ref = operation.kind === "add" ? { name: operation.queue, generation: operation.generation } : operation.run;
    refs.set(queueName(ref), ref);
  }
  const found = await Promise.all(
    [...refs].map(async ([name, ref]): Promise<readonly [string, Queue][]> => {
      const queue = await context.settings.findLife(context.store, ref, context.now());
      return queue === undefined ? [] : [[name, queue]];
    }),
  );
  return new Map(found.flat());
};

export const addsOf = (operations: readonly Operation[]): readonly Add[] =>
  operations.filter((operation) => operation.kind === "add");

/**
 * Takes positions at the tails for everything that is added. A partition whose queue is gone gets none; its tail was
 * closed with it, so an old copy of the settings does not matter.
 */
export const takePositions = async (
  context: Context,
  adds: readonly Add[],
): Promise<Readonly<Record<string, number>>> => {
  const wanted = new Map<string, { readonly at: PartitionRef; messages: number }>();
  for (const add of adds) {
    const at = partitionOfAdd(add);
    const known = wanted.get(partitionName(at)) ?? { at, messages: 0 };
    known.messages += add.sizes.length;
    wanted.set(partitionName(at), known);
  }
  const taken = await Promise.all(
    [...wanted].map(async ([name, { at, messages }]): Promise<readonly [string, number][]> => {
      const counted = await context.store.count(countEnqueued(at, messages));
      if (counted === undefined) context.settings.forget(at.name);
      return counted === undefined ? [] : [[name, positionFrom(counted, messages)]];
    }),
  );
  return Object.fromEntries(taken.flat());
};

/** Counts what commit settles, before it is settled. */
export const countRemovals = async (context: Context, removals: Iterable<Removal>): Promise<void> => {
  const settled = new Map<string, { readonly at: PartitionRef; messages: number }>();
  for (const { key, held, isGone } of removals) {
    const known = settled.get(partitionName(key)) ?? { at: key, messages: 0 };
    if (!isGone) known.messages += held;
    settled.set(partitionName(key), known);
  }
  await Promise.all(
    [...settled.values()].map(async ({ at, messages }) => {
      if (messages > 0) await context.store.count(countSettled(at, messages, 0));
    }),
  );
};

/**
 * Where adds go whose queue is gone (also when that happened after their positions were taken): to its dead-letter queue,
 * if it had one and that is there, as far as there is room. By operation id.
 */
export const redirectAdds = async (
  context: Context,
  adds: readonly Add[],
  positions: Readonly<Record<string, number>>,
  queues: ReadonlyMap<string, Queue>,
  nowMs: number,
): Promise<ReadonlyMap<string, Redirect>> => {
  const redirects = new Map<string, Redirect>();
  for (const add of adds) {
    const isThere = queues.has(queueName({ name: add.queue, generation: add.generation }));
    if (isThere && positions[partitionName(partitionOfAdd(add))] !== undefined) continue;
    const queue = await deadLetterQueueOf(context, add);
    const before = [...redirects.values()].filter((other) => queue !== undefined && isSame(other.queue, queue));
    const redirect = queue && (await redirectTo(context, queue, add, before, nowMs));
    if (redirect !== undefined) redirects.set(add.id, redirect);
  }
  return redirects;
};

const isSame = (a: QueueRef, b: QueueRef): boolean => queueName(a) === queueName(b);

/** The add names it; one that was listed without, before adds did, is told by the mark of its deleted queue. */
const deadLetterQueueOf = async (context: Context, add: Add): Promise<Queue | undefined> => {
  const name = add.deadLetterQueue ?? (await deadLetterQueueOfGone(context, add));
  return name === undefined ? undefined : context.settings.find(context.store, name, context.now(), true);
};

const deadLetterQueueOfGone = async (context: Context, add: Add): Promise<string | undefined> => {
  const item = await context.store.read(deletedQueueKey({ name: add.queue, generation: add.generation }));
  return (item && readDeletedQueue(item).settings.deadLetterQueue) ?? undefined;
};

/** `before`: what the same commit already brings there. */
const redirectTo = async (
  context: Context,
  queue: Queue,
  add: Add,
  before: readonly Redirect[],
  nowMs: number,
): Promise<Redirect | undefined> => {
  const indexes = add.sizes.map((_, i) => i);
  const bodies = await loadMessages(context, add.payload, indexes);
  const letters = [...bodies].map(([index, message]) => deadLetter(add, index, message, nowMs));
  const messages = await fitting(context, queue, letters, before);
  if (messages.length === 0) return undefined;
  const at = { name: queue.name, generation: queue.generation, partition: 0 };
  const counted = await context.store.count(countEnqueued(at, messages.length));
  if (counted === undefined) return undefined;
  const run = await buildRun(context, queue, 0, positionFrom(counted, messages.length), messages, nowMs);
  return { queue, run };
};

/** The letters that the queue has room for, beside those before them; a ring drops its oldest for them first. */
const fitting = async (
  context: Context,
  queue: Queue,
  letters: readonly Message[],
  before: readonly Redirect[],
): Promise<readonly Message[]> => {
  if (!isLimited(queue.settings)) return letters;
  const sizes = before.flatMap(({ run }) => run.sizes);
  const [usedMessages, usedBytes] = [sizes.length, sum(sizes)];
  if (queue.settings.overflow === "ring") {
    const bytes = usedBytes + sum(letters.map(({ body }) => body.length));
    await dropOldestNow(context, queue, { messages: usedMessages + letters.length, bytes });
  }
  const { messages, bytes } = await freeCapacity(context, queue);
  return prefixWithin(letters, {
    ...(messages !== undefined && { messages: messages - usedMessages }),
    ...(bytes !== undefined && { bytes: bytes - usedBytes }),
  });
};

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);

const deadLetter = (add: Add, index: number, { properties, body }: Message, nowMs: number): Message => {
  const { ttlSeconds: _, ...kept } = properties;
  return {
    body,
    properties: {
      ...kept,
      messageId: properties.messageId ?? messageIdOf(add.messageIdBase, index),
      deadLetter: { queue: add.queue, reason: "queue-deleted", deliveryCount: 0, deadLetteredAtMs: nowMs },
    },
  };
};

/** The completion of a branch, however many commits it takes. */
export interface Completion {
  readonly outcome: Outcome;
  readonly leaves: "none" | "heuristic";
  readonly reason: string;
  /** It answers XA_OK, and does so again when repeated. */
  readonly isRepeatable: boolean;
}
