import { isLimited, type QueueSettings } from "../domain/queue.ts";
import { deletedQueuePk, shards, tailShard } from "../records/keys.ts";
import { readDeletedQueue } from "../records/queue.ts";
import { Unreadable } from "../records/reading.ts";
import type { Item, Key } from "../records/write.ts";
import type { Context } from "./context.ts";
import { inTurn, namesPages } from "./pages.ts";
import { type Swept, sweepDeleted, sweepQueue } from "./queues/sweep.ts";

export interface SweptAll {
  /** It stopped at the call's time limit, before the end. */
  readonly more: boolean;
  /** Records that could not be read; they stopped nothing else. */
  readonly unreadable: readonly Key[];
}

/** The backstop: sweeps every deleted queue, and every live one whose messages time may end. */
export const sweepAll = async (context: Context): Promise<SweptAll> => {
  const unreadable: Key[] = [];
  let more = false;
  const each = async (pk: string, sweep: (item: Item) => Promise<Swept | undefined>) => {
    for await (const page of namesPages(context, pk)) {
      for (const item of page) {
        if (context.now() >= context.stopAtMs) {
          more = true;
          return;
        }
        const swept = await noting(unreadable, () => sweep(item));
        unreadable.push(...(swept?.unreadable ?? []));
        more ||= swept?.more ?? false;
      }
    }
  };
  await each(deletedQueuePk, (item) => sweepDeleted(context, readDeletedQueue(item)));
  for (const shard of inTurn(shards, context.now())) {
    await each(tailShard(shard), (item) => sweepLive(context, item));
  }
  return { more, unreadable };
};

/** Sweeps the queue of a tail, once: by its first partition. */
const sweepLive = async (context: Context, tail: Item): Promise<Swept | undefined> => {
  const [name = "", generation, partition] = String(tail.sk).split("#");
  if (partition !== "0" || tail.closed === true) return undefined;
  const queue = await context.settings.find(context.store, name, context.now());
  if (queue?.generation !== generation || queue === undefined || !mayEnd(queue.settings)) return undefined;
  return sweepQueue(context, queue);
};

/**
 * Whether it matters that ended messages leave before someone meets them: they are to appear on a dead-letter queue, or
 * to give capacity back. A message may bring a time to live of its own to any queue.
 */
const mayEnd = (settings: QueueSettings): boolean =>
  settings.messageTtlSeconds !== null ||
  settings.retentionSeconds !== null ||
  settings.maxDeliveries > 0 ||
  settings.deadLetterQueue !== null ||
  isLimited(settings);

const noting = async <T>(unreadable: Key[], work: () => Promise<T>): Promise<T | undefined> => {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    unreadable.push(error.key);
    return undefined;
  }
};
