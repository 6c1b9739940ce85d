import { DELETED_QUEUE_SWEEP_MS } from "../../domain/limits.ts";
import { type PartitionRef, partitionsOf, type Queue, type QueueRef } from "../../domain/queue.ts";
import type { Run, Standing } from "../../domain/run.ts";
import { deletedQueueKey, runPk, runSk } from "../../records/keys.ts";
import { type DeletedQueue, readDeletedQueue } from "../../records/queue.ts";
import { Unreadable } from "../../records/reading.ts";
import { positionOf, readRun } from "../../records/run.ts";
import type { Item, Key } from "../../records/write.ts";
import type { Dead } from "../change-run.ts";
import type { Context } from "../context.ts";
import { type Over, overOfAll } from "../over.ts";
import { eachOf } from "../payload.ts";
import { bury } from "./bury.ts";
import { settleSome } from "./settle-some.ts";

/** How far a sweep came. */
export interface Swept {
  /** It stopped at the call's time limit, before the end. */
  readonly more: boolean;
  /** Runs that are left, of those that were seen. */
  readonly left: number;
  /** Records that could not be read; they stop nothing else. */
  readonly unreadable: readonly Key[];
}

/** Where the messages of a live queue go that time or their deliveries have ended; all others stay. */
export const sweepQueue = (context: Context, queue: Queue): Promise<Swept> => sweepRuns(context, queue, overOfAll);

/**
 * Empties a deleted queue: what no branch holds goes to its dead-letter queue, or is settled. Repeated until no handler
 * can be at work that knew the queue alive, and nothing is left; then the queue is buried.
 */
export const sweepDeleted = async (context: Context, queue: DeletedQueue): Promise<Swept> => {
  const swept = await sweepRuns(context, queue, allButHeld);
  const isEmpty = !swept.more && swept.left === 0 && swept.unreadable.length === 0;
  if (isEmpty && context.now() >= queue.deletedAtMs + DELETED_QUEUE_SWEEP_MS) await bury(context, queue);
  return swept;
};

/** The mark of a queue that was deleted and is not buried yet. */
export const findDeleted = async (context: Context, queue: QueueRef): Promise<DeletedQueue | undefined> => {
  const item = await context.store.read(deletedQueueKey(queue));
  return item && readDeletedQueue(item);
};

/** What goes of a deleted queue: all that no branch holds. */
export const allButHeld = (standings: readonly Standing[]): Over => {
  const over = overOfAll(standings);
  const rest = [...standings.keys()].filter(
    (index) => standings[index] !== "held" && standings[index] !== "settled" && !over.settled.includes(index),
  );
  const dead = rest.map((index): Dead => ({ index, reason: "queue-deleted" }));
  return { settled: [...over.settled, ...rest], dead: [...over.dead, ...dead] };
};

const sweepRuns = async (
  context: Context,
  queue: Queue,
  choose: (standings: readonly Standing[]) => Over,
): Promise<Swept> => {
  const unreadable: Key[] = [];
  let left = 0;
  let more = false;
  const sweepRun = async (run: Run): Promise<void> => {
    left += 1;
    more ||= context.now() >= context.stopAtMs;
    if (more) return;
    const gone = await settleSome(context, queue, run, choose);
    if (gone !== undefined && gone.settled.length === unsettled(run)) left -= 1;
  };
  for (const partition of partitionsOf(queue)) {
    for await (const runs of readableRuns(context, partition, unreadable)) {
      // Dead letters come to their queue in order: one run after the other.
      if (queue.settings.deadLetterQueue === null) await eachOf(runs, sweepRun);
      else for (const run of runs) await sweepRun(run);
      if (more) return { more, left, unreadable };
    }
  }
  return { more, left, unreadable };
};

const unsettled = (run: Run): number => run.slots.filter((slot) => slot.state !== "settled").length;

async function* readableRuns(
  context: Context,
  partition: PartitionRef,
  unreadable: Key[],
): AsyncGenerator<readonly Run[]> {
  let after: string | undefined;
  do {
    const page = await context.store.query({
      pk: runPk(partition),
      from: runSk(0),
      ...(after !== undefined && { after }),
    });
    yield page.items.flatMap((item) => readOrNote(item, partition, unreadable) ?? []);
    after = page.next;
  } while (after !== undefined);
}

const readOrNote = (item: Item, { name, generation, partition }: PartitionRef, unreadable: Key[]): Run | undefined => {
  try {
    return readRun(item, { name, generation, partition, position: positionOf(item) });
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    unreadable.push(error.key);
    return undefined;
  }
};
