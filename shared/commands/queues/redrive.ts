import { setTimeout as sleep } from "node:timers/promises";
import type { Message } from "../../domain/message.ts";
import { isLimited, type PartitionRef, partitionsOf, type Queue } from "../../domain/queue.ts";
import { type Refusal, refuse, refuseFields } from "../../domain/refusal.ts";
import { messageIdOf, type Run, settle, standingOf } from "../../domain/run.ts";
import { runKey, tailKey } from "../../records/keys.ts";
import { addFlow, moveCapacity, noFlow, readTail } from "../../records/queue.ts";
import { putNewRun, readRun, writeRun } from "../../records/run.ts";
import { Unavailable } from "../../store/port.ts";
import { newRunOn, prefixWithin } from "../change-run.ts";
import type { Context } from "../context.ts";
import { freeCapacity } from "../drop-oldest.ts";
import { countLeaving, deleteBodies, nothingCounted, outflow } from "../leave.ts";
import { metRunsOf } from "../met-runs.ts";
import { commitNaming, loadMessages } from "../payload.ts";
import { leaseLiveness } from "../sessions/lease-liveness.ts";
import { sweepEnded } from "./sweep-ended.ts";

export interface Redriven {
  readonly redriven: number;
  /** Available dead letters that stay: the queue that they came from is gone, or has no room for them. */
  readonly left: number;
  /** The time limit came first: redrive again for the rest. */
  readonly more: boolean;
}

/** Every lost round is someone else's change of the same run. */
const ROUNDS = 100;
const PAUSE_MS = 20;

/**
 * Moves the available dead letters of a queue back to the queues that they came from, or all of them to one (`to`), in their
 * order: each in one commit that takes it from here and puts it there, as a new message with its id. No deduplication id is
 * looked at: it is the first one that comes back. Messages that are no dead letters stay, unless `to` says where they go.
 */
export const redrive = async (context: Context, name: string, to: string | undefined): Promise<Redriven | Refusal> => {
  if (to === name) return refuseFields({ path: "to", message: "must be another queue than this one" });
  const queue = await context.settings.find(context.store, name, context.now(), true);
  if (queue === undefined) return refuse("not-found", `queue ${name} does not exist`);
  if (to !== undefined && (await context.settings.find(context.store, to, context.now(), true)) === undefined) {
    return refuse("not-found", `queue ${to} does not exist`);
  }
  const move = { context, queue, to, closed: new Set<string>() };
  const partitions = partitionsOf(queue);
  const tails = await context.store.readAll(partitions.map(tailKey));
  let [redriven, left] = [0, 0];
  for (const [i, partition] of partitions.entries()) {
    const tail = tails[i];
    const part = await redrivePartition(move, partition, tail === undefined ? 0 : readTail(tail).enqueued);
    redriven += part.redriven;
    left += part.left;
    if (part.more) return { redriven, left, more: true };
  }
  return { redriven, left, more: false };
};

interface Move {
  readonly context: Context;
  readonly queue: Queue;
  readonly to: string | undefined;
  /** Queues that took not all of theirs: nothing may pass what stayed behind. */
  readonly closed: Set<string>;
}

const redrivePartition = async (move: Move, partition: PartitionRef, end: number): Promise<Redriven> => {
  let [redriven, left] = [0, 0];
  for await (const { runs } of metRunsOf(move.context, partition)) {
    for (const run of runs) {
      if (run.key.position >= end) return { redriven, left, more: false };
      if (move.context.now() >= move.context.stopAtMs) return { redriven, left, more: true };
      const of = await redriveRun(move, run);
      redriven += of.redriven;
      left += of.left;
    }
  }
  return { redriven, left, more: false };
};

/** Letters of one run that go to one queue together. */
interface Batch {
  readonly target: string;
  readonly letters: readonly (readonly [index: number, message: Message])[];
}

const redriveRun = async (move: Move, first: Run): Promise<{ readonly redriven: number; readonly left: number }> => {
  const { context } = move;
  let run = first;
  let redriven = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const { batches, available } = await findLetters(move, run);
    const batch = batches.find(({ target }) => !move.closed.has(target));
    if (batch === undefined) return { redriven, left: available };
    const moved = await moveBatch(move, run, batch);
    if (moved !== "others") {
      redriven += moved;
      if (moved < batch.letters.length) move.closed.add(batch.target);
    } else await sleep(Math.random() * PAUSE_MS);
    const item = await context.store.read(runKey(run.key));
    if (item === undefined) return { redriven, left: 0 };
    run = readRun(item, run.key);
  }
  throw new Unavailable("the dead letters are changed by others all the time");
};

/** The run's available letters that have a queue to go to, by that queue, each in its order. */
const findLetters = async (
  { context, queue, to, closed }: Move,
  run: Run,
): Promise<{ readonly batches: readonly Batch[]; readonly available: number }> => {
  const isAlive = await leaseLiveness(context, [run]);
  const nowMs = context.now();
  const indexes = [...run.slots.keys()].filter(
    (index) => standingOf(run, index, queue.settings, nowMs, isAlive) === "available",
  );
  const messages = await loadMessages(context, run.payload, indexes);
  const found = indexes.flatMap((index) => {
    const message = messages.get(index);
    const target = to ?? message?.properties.deadLetter?.queue;
    return message === undefined || target === undefined ? [] : [{ target, letter: [index, message] as const }];
  });
  const byTarget = Map.groupBy(found, ({ target }) => target);
  const batches: Batch[] = [];
  for (const [target, own] of byTarget) {
    const isThere = target !== queue.name && (await context.settings.find(context.store, target, nowMs)) !== undefined;
    if (!isThere) closed.add(target);
    batches.push({ target, letters: own.map(({ letter }) => letter) });
  }
  return { batches, available: found.length };
};

/** How many of the batch were moved; `others`: they changed the run, or the queue is not as it was found. */
const moveBatch = async (
  { context, queue }: Move,
  run: Run,
  { target: name, letters }: Batch,
): Promise<number | "others"> => {
  const target = await context.settings.find(context.store, name, context.now());
  if (target === undefined) return 0;
  const fitting = await fittingOf(context, target, letters);
  if (fitting.length === 0) return 0;
  const indexes = fitting.map(([index]) => index);
  const messages = fitting.map(([index, message]) => redrivenForm(message, messageIdOf(run.messageIdBase, index)));
  const added = await newRunOn(context, target, run, messages);
  if (added === undefined) {
    context.settings.forget(name);
    return "others";
  }
  await countLeaving(context, run.key, { settled: indexes.length, dead: 0 }, nothingCounted);
  const after = settle(run, indexes);
  const inBytes = messages.reduce((sum, { body }) => sum + body.length, 0);
  const commit = await commitNaming(
    context,
    [added.payload],
    [
      writeRun(run, after),
      ...moveCapacity(queue, outflow(run, indexes)),
      putNewRun(added),
      ...moveCapacity(target, addFlow(noFlow, { inMessages: messages.length, inBytes })),
    ],
  );
  if (!commit.done) return "others";
  await deleteBodies(context, queue, run, after);
  return indexes.length;
};

/** What the queue has room for, the oldest first: a redrive drops nothing, of a ring neither. */
const fittingOf = async (context: Context, target: Queue, letters: Batch["letters"]): Promise<Batch["letters"]> => {
  if (!isLimited(target.settings)) return letters;
  const messages = letters.map(([, message]) => message);
  const fitting = prefixWithin(messages, await freeCapacity(context, target)).length;
  // What time has ended there still takes room until someone meets it.
  if (fitting === letters.length || !(await sweepEnded(context, target))) return letters.slice(0, fitting);
  return letters.slice(0, prefixWithin(messages, await freeCapacity(context, target)).length);
};

/** It is no dead letter any more, and keeps its id: also one that was never a letter and has it from its run. */
const redrivenForm = ({ body, properties: { deadLetter: _, ...properties } }: Message, messageId: string): Message => ({
  body,
  properties: { messageId, ...properties },
});
