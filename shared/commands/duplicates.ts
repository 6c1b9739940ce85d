import type { Message } from "../domain/message.ts";
import type { QueueRef } from "../domain/queue.ts";
import { deduplicationKey } from "../records/keys.ts";
import { type First, ifInForce, readDeduplication } from "../records/remembered.ts";
import type { Context } from "./context.ts";

/** What the first messages with these deduplication ids became on a queue, by id; an id that is not known is left out. */
export const findFirsts = async (
  context: Context,
  queue: QueueRef,
  ids: readonly string[],
): Promise<ReadonlyMap<string, First>> => {
  const wanted = [...new Set(ids)];
  const items = await context.store.readAll(wanted.map((id) => deduplicationKey(queue, id)));
  const nowMs = context.now();
  return new Map(
    wanted.flatMap((id, i) => {
      const item = ifInForce(items[i], nowMs);
      return item === undefined ? [] : [[id, readDeduplication(item)] as const];
    }),
  );
};

/** The same, of the ids that these messages have. */
export const findFirstsOf = (
  context: Context,
  queue: QueueRef,
  messages: readonly Message[],
): Promise<ReadonlyMap<string, First>> =>
  findFirsts(
    context,
    queue,
    messages.flatMap(({ properties: { deduplicationId: id } }) => (id === undefined ? [] : [id])),
  );

/** Messages to put: not those whose deduplication id was met before, in the call or on the queue. */
export const withoutDuplicates = (
  messages: readonly Message[],
  duplicates: ReadonlyMap<string, unknown>,
): readonly Message[] => {
  const met = new Set(duplicates.keys());
  return messages.filter(({ properties: { deduplicationId: id } }) => {
    if (id === undefined) return true;
    const isNew = !met.has(id);
    met.add(id);
    return isNew;
  });
};
