import type { Outcome } from "../../domain/branch.ts";
import type { Message } from "../../domain/message.ts";
import type { Add, Operation } from "../../domain/operation.ts";
import type { PartitionRef, Queue, QueueRef } from "../../domain/queue.ts";
import { messageIdOf } from "../../domain/run.ts";
import { deletedQueueKey, partitionName } from "../../records/keys.ts";
import { countEnqueued, countSettled, positionFrom, readDeletedQueue } from "../../records/queue.ts";
import type { Context } from "../context.ts";
import { buildRun } from "../new-run.ts";
import { loadMessages } from "../payload.ts";
import { partitionOfAdd, queueName, type Redirect, type Removal } from "./effects.ts";

/** The live queues that operations name, by name and generation; one that is gone or was declared anew is left out. */
export const loadQueues = async (
  context: Context,
  operations: readonly Operation[],
  fresh = false,
): Promise<ReadonlyMap<string, Queue>> => {
  const refs = new Map<string, QueueRef>();
  for (const operation of operations) {
    const ref = operation.kind === "add" ? { name: operation.queue, generation: operation.generation } : operation.run;
    refs.set(queueName(ref), ref);
  }
  const found = await Promise.all(
    [...refs].map(async ([name, ref]): Promise<readonly [string, Queue][]> => {
      const queue = await context.settings.find(context.store, ref.name, context.now(), fresh);
      return queue?.generation === ref.generation ? [[name, queue]] : [];
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

/** Where adds go whose queue is gone: to its dead-letter queue, if it had one and that is there. By operation id. */
export const redirectAdds = async (
  context: Context,
  adds: readonly Add[],
  positions: Readonly<Record<string, number>>,
  nowMs: number,
): Promise<ReadonlyMap<string, Redirect>> => {
  const redirects = new Map<string, Redirect>();
  for (const add of adds) {
    if (positions[partitionName(partitionOfAdd(add))] !== undefined) continue;
    const queue = await deadLetterQueueOf(context, { name: add.queue, generation: add.generation });
    const redirect = queue && (await redirectTo(context, queue, add, nowMs));
    if (redirect !== undefined) redirects.set(add.id, redirect);
  }
  return redirects;
};

const deadLetterQueueOf = async (context: Context, gone: QueueRef): Promise<Queue | undefined> => {
  const item = await context.store.read(deletedQueueKey(gone));
  const name = item && readDeletedQueue(item).settings.deadLetterQueue;
  return typeof name === "string" ? context.settings.find(context.store, name, context.now(), true) : undefined;
};

const redirectTo = async (context: Context, queue: Queue, add: Add, nowMs: number): Promise<Redirect | undefined> => {
  const counted = await context.store.count(
    countEnqueued({ name: queue.name, generation: queue.generation, partition: 0 }, add.sizes.length),
  );
  if (counted === undefined) return undefined;
  const bodies = await loadMessages(
    context,
    add.payload,
    add.sizes.map((_, i) => i),
  );
  const messages = [...bodies].map(([index, message]) => deadLetter(add, index, message, nowMs));
  const run = await buildRun(context, queue, 0, positionFrom(counted, add.sizes.length), messages, nowMs);
  return { queue, run };
};

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
