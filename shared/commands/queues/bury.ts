import { FOLDED_MS, FORGOTTEN_PER_FOLD } from "../../domain/limits.ts";
import { isLimited, partitionsOf } from "../../domain/queue.ts";
import { deletedMarkKey, generationName, storeKey, tailKey } from "../../records/keys.ts";
import { buryQueue, type DeletedQueue, readTail, sealTail } from "../../records/queue.ts";
import { foldTails, hasFoldRoom, noteTailsGone, readStore, type StoreRecord } from "../../records/store.ts";
import type { Context } from "../context.ts";
import { forgetBindingsTo } from "../exchanges/forget-bindings.ts";

/**
 * Ends a deleted queue that has nothing left. The store's counter is read without a transaction, tails first, so it must
 * not go back in between: the tails are sealed and change no more, then the store's record takes their counters over and
 * names the queue, then they go. Each step stands when it was cut off, and the next sweep goes on. So it does when someone
 * else buries the queue at the same time.
 */
export const bury = async (context: Context, queue: DeletedQueue): Promise<void> => {
  // A delete that was cut off may have left some.
  if (!(await forgetBindingsTo(context, queue))) return;
  if (!(await isFolded(context, queue, 0))) return;
  const writes = buryQueue(queue, partitionsOf(queue), isLimited(queue.settings));
  await context.store.commit([...writes, noteTailsGone(queue, context.now())]);
};

/** Rounds of one sweep, when others change the store's record at the same time. */
const ROUNDS = 3;

/** Whether the store counts for the queue, now. Late counts at its tails are refused from the seal on, so none is lost. */
const isFolded = async (context: Context, queue: DeletedQueue, round: number): Promise<boolean> => {
  const store = readStore(await context.store.read(storeKey));
  if (store.folded?.has(generationName(queue)) === true) return true;
  const forget = await forgettable(context, store);
  if (!hasFoldRoom(store) && forget.length === 0) return false;
  const partitions = partitionsOf(queue);
  const sealed = await context.store.commit(partitions.map(sealTail));
  if (!sealed.done) return false;
  const items = await context.store.readAll(partitions.map(tailKey));
  const tails = items.flatMap((item) => (item === undefined ? [] : [readTail(item)]));
  const folded = await context.store.commit([foldTails(store, queue, tails, context.now(), forget)]);
  return folded.done || (round + 1 < ROUNDS && isFolded(context, queue, round + 1));
};

/** Names of queues whose tails went so long ago that nobody is at work who saw them. */
const forgettable = async (
  context: Context,
  { folded }: StoreRecord,
): Promise<readonly (readonly [string, number])[]> => {
  const untilMs = context.now() - FOLDED_MS;
  const some = [...(folded ?? [])].filter(([, atMs]) => atMs <= untilMs).slice(0, FORGOTTEN_PER_FOLD);
  // Whoever was cut off after the folding has left the tails: its queue is still to be buried.
  const marks = await context.store.readAll(some.map(([name]) => deletedMarkKey(name)));
  return some.filter((_, i) => marks[i] === undefined);
};
