import { RECORDS_PER_COMMIT } from "../../domain/limits.ts";
import type { Operation } from "../../domain/operation.ts";
import type { Queue } from "../../domain/queue.ts";
import { addFlow, type Flow, moveCapacity, noFlow } from "../../records/queue.ts";
import type { Write } from "../../records/write.ts";
import type { Context } from "../context.ts";
import { clearRoom, dropOldest, roomWrites } from "../drop-oldest.ts";
import { queueName } from "./effects.ts";
import { addsOf, loadQueues } from "./gather.ts";

/** What a branch adds to each limited queue. */
export const inflowOf = (
  operations: readonly Operation[],
  queues: ReadonlyMap<string, Queue>,
): ReadonlyMap<Queue, Flow> => {
  const flows = new Map<Queue, Flow>();
  for (const add of addsOf(operations)) {
    const queue = queues.get(queueName({ name: add.queue, generation: add.generation }));
    if (queue === undefined) continue;
    const inBytes = add.sizes.reduce((a, b) => a + b, 0);
    flows.set(queue, addFlow(flows.get(queue) ?? noFlow, { inMessages: add.sizes.length, inBytes }));
  }
  return flows;
};

/** Reserves depth for what a branch adds: one write for each limited queue. */
export const reservations = (operations: readonly Operation[], queues: ReadonlyMap<string, Queue>): readonly Write[] =>
  [...inflowOf(operations, queues)].flatMap(([queue, flow]) => moveCapacity(queue, flow));

/**
 * Makes room for a branch on the ring queues that it adds to, by dropping their oldest available messages, in commits of
 * their own. False when a queue without a ring is full, or a ring has nothing left to drop.
 */
export const makeRoomForBranch = async (context: Context, operations: readonly Operation[]): Promise<boolean> => {
  const queues = await loadQueues(context, operations);
  for (const [queue, flow] of inflowOf(operations, queues)) {
    if (queue.settings.overflow !== "ring") continue;
    const need = { messages: flow.inMessages, bytes: flow.inBytes };
    const room = await dropOldest(context, queue, need, RECORDS_PER_COMMIT);
    if (room === undefined) return false;
    if (room.changes.length === 0) continue;
    const commit = await context.store.commit([...roomWrites(room), ...moveCapacity(queue, noFlow, room.dropped)]);
    if (commit.done) await clearRoom(context, queue, room);
  }
  return [...inflowOf(operations, queues).keys()].some((queue) => queue.settings.overflow === "ring");
};
