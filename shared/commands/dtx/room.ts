import type { Operation } from "../../domain/operation.ts";
import { isLimited, type Queue } from "../../domain/queue.ts";
import { addFlow, type Flow, moveCapacity, noFlow } from "../../records/queue.ts";
import type { Write } from "../../records/write.ts";
import type { Context } from "../context.ts";
import { dropOldestNow } from "../drop-oldest.ts";
import { sweepEnded } from "../queues/sweep-ended.ts";
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
    const endsByItself = add.ttlSeconds.some((seconds) => seconds > 0);
    flows.set(queue, addFlow(flows.get(queue) ?? noFlow, { inMessages: add.sizes.length, inBytes, endsByItself }));
  }
  return flows;
};

/** Limited queues that a branch may add to: depth is reserved on all of them in one commit of 100, beside the branch. */
export const RESERVATIONS = 99;

/** Reserves depth for what a branch adds: one write for each limited queue. */
export const reservations = (operations: readonly Operation[], queues: ReadonlyMap<string, Queue>): readonly Write[] =>
  [...inflowOf(operations, queues)].flatMap(([queue, flow]) => moveCapacity(queue, flow));

/**
 * Makes room for a branch on the limited queues that it adds to, in commits of their own: rings drop their oldest available
 * messages, and the first time the others are rid of what time has ended there. False when none of that can help.
 */
export const makeRoomForBranch = async (
  context: Context,
  operations: readonly Operation[],
  isFirstTime: boolean,
): Promise<boolean> => {
  const queues = await loadQueues(context, operations);
  let made = false;
  for (const [queue, flow] of inflowOf(operations, queues)) {
    if (!isLimited(queue.settings)) continue;
    if (queue.settings.overflow === "reject") {
      made = (isFirstTime && (await sweepEnded(context, queue))) || made;
      continue;
    }
    const need = { messages: flow.inMessages, bytes: flow.inBytes };
    if (!(await dropOldestNow(context, queue, need))) return false;
    made = true;
  }
  return made;
};
