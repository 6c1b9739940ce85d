import type { Request } from "../../domain/command.ts";
import type { Message } from "../../domain/message.ts";
import { partitionFor, type Queue } from "../../domain/queue.ts";
import { countEnqueued, countSettled } from "../../records/queue.ts";
import type { Context } from "../context.ts";

/** Messages were enqueued and dropped at once: both are counted, neither is to be seen. */
export const countDropped = async (
  context: Context,
  queue: Queue,
  session: string | undefined,
  messages: number,
): Promise<void> => {
  const partition = partitionFor(queue.settings, session, 0);
  const at = { name: queue.name, generation: queue.generation, partition };
  if ((await context.store.count(countEnqueued(at, messages))) === undefined) return;
  await context.store.count(countSettled(at, messages, 0));
};

/** The same, of a command that nobody is told of: on each queue that it would have gone to. */
export const countRefused = async (
  context: Context,
  session: string,
  request: Extract<Request, { kind: "enqueue" | "publish" }>,
  messages: readonly Message[],
): Promise<void> => {
  const copies = new Map<string, number>();
  if (request.kind === "enqueue") copies.set(request.queue, messages.length);
  else {
    const routes = await context.router.route(context.store, request.exchange, request.routingKey, messages);
    for (const { name } of (routes ?? []).flatMap((queues) => [...queues.values()])) {
      copies.set(name, (copies.get(name) ?? 0) + 1);
    }
  }
  for (const [name, count] of copies) {
    const queue = await context.settings.find(context.store, name, context.now(), true);
    if (queue !== undefined) await countDropped(context, queue, session, count);
  }
};
