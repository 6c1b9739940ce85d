import type { Queue, QueueSettings } from "../../domain/queue.ts";
import { capacityKey } from "../../records/keys.ts";
import { hadEndings } from "../../records/queue.ts";
import type { Context } from "../context.ts";
import { sweepQueue } from "./sweep.ts";

/**
 * For whoever meets a full queue: takes away what time has ended there, which has room until someone does. False when
 * nothing can have ended: then no message is looked at, for a full queue is asked often.
 */
export const sweepEnded = async (context: Context, queue: Queue): Promise<boolean> => {
  if (!endsBySettings(queue.settings)) {
    const capacity = await context.store.read(capacityKey(queue));
    if (capacity === undefined || !hadEndings(capacity)) return false;
  }
  await sweepQueue(context, queue);
  return true;
};

const endsBySettings = ({ messageTtlSeconds, retentionSeconds, maxDeliveries }: QueueSettings): boolean =>
  messageTtlSeconds !== null || retentionSeconds !== null || maxDeliveries > 0;
