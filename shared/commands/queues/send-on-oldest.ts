import type { Queue } from "../../domain/queue.ts";
import { liveCount, sizeOf } from "../../domain/run.ts";
import type { Context } from "../context.ts";
import { oldestFirst } from "../drop-oldest.ts";
import { overOfAll } from "../over.ts";
import { settleSome } from "./settle-some.ts";

/**
 * For a ring that is about to drop its oldest: what time or deliveries have ended among them goes to the dead-letter queue, if
 * there is one, as everywhere. It looks at as many of the oldest as may have to go.
 */
export const sendOnOldest = async (
  context: Context,
  queue: Queue,
  need: { readonly messages: number; readonly bytes: number },
): Promise<void> => {
  const { deadLetterQueue, maxMessages, maxBytes } = queue.settings;
  if (deadLetterQueue === null) return;
  let messages = maxMessages === null ? 0 : need.messages;
  let bytes = maxBytes === null ? 0 : need.bytes;
  for await (const run of oldestFirst(context, queue)) {
    if (messages <= 0 && bytes <= 0) return;
    await settleSome(context, queue, run, overOfAll);
    messages -= liveCount(run);
    bytes -= sizeOf(run, [...run.sizes.keys()]);
  }
};
