import { RECORDS_PER_COMMIT } from "../domain/limits.ts";
import type { Queue } from "../domain/queue.ts";
import { type Refusal, refuse } from "../domain/refusal.ts";
import { noFlow } from "../records/queue.ts";
import type { Context } from "./context.ts";
import { dropOldest, freeCapacity, type Room } from "./drop-oldest.ts";
import { sweepQueue } from "./queues/sweep.ts";

/**
 * Room for a call that a limited queue had none for. On a queue that refuses, what time has ended leaves first, and then
 * there may be room (an empty `Room`). A ring drops its oldest messages that nobody has: the answer is what goes beside the
 * caller's own writes, at most `records` of them. Commit again with
 *
 *     [...own, ...moveCapacity(queue, flow, room.dropped), ...roomWrites(room)]
 *
 * and when that is done, `clearRoom`. When the capacity condition fails again, others were faster: make room again.
 * Refused: the queue is full and no ring, the call is larger than the queue, or too little of it can be dropped.
 */
export const makeRoom = async (
  context: Context,
  queue: Queue,
  needMessages: number,
  needBytes: number,
  records: number = RECORDS_PER_COMMIT,
): Promise<Room | Refusal> => {
  const { maxMessages, maxBytes, overflow } = queue.settings;
  if (needMessages > (maxMessages ?? needMessages) || needBytes > (maxBytes ?? needBytes)) {
    return full(queue, "the call is larger than the queue");
  }
  if (overflow === "ring") {
    const room = await dropOldest(context, queue, { messages: needMessages, bytes: needBytes }, records);
    return room ?? full(queue, "nothing is available to drop");
  }
  if (mayHaveEnded(queue)) await sweepQueue(context, queue);
  const { messages = needMessages, bytes = needBytes } = await freeCapacity(context, queue);
  if (messages < needMessages || bytes < needBytes) return full(queue, "it takes no more");
  return { changes: [], dropped: noFlow };
};

const full = (queue: Queue, why: string): Refusal =>
  refuse("resource-limit-exceeded", `queue ${queue.name} is full: ${why}`);

/** Only then is a look at the whole queue worth its price. */
const mayHaveEnded = ({ settings }: Queue): boolean =>
  settings.messageTtlSeconds !== null || settings.retentionSeconds !== null || settings.maxDeliveries > 0;
