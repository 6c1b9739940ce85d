import type { Add, Operation } from "../../domain/operation.ts";
import { isLimited, type Queue, queueName } from "../../domain/queue.ts";
import { addFlow, type Flow, moveCapacity, noFlow } from "../../records/queue.ts";
import type { Write } from "../../records/write.ts";
import type { Context } from "../context.ts";
import { dropOldestNow, hasRoom } from "../drop-oldest.ts";
import { findFirsts } from "../duplicates.ts";
import { sendOnOldest } from "../queues/send-on-oldest.ts";
import { sweepEnded } from "../queues/sweep-ended.ts";
import { copyName, repeatsIn } from "./effects.ts";
import { addsOf, loadQueues } from "./gather.ts";

/** What a branch adds to each of its queues, but for copies that are duplicates. */
export const inflowOf = (
  operations: readonly Operation[],
  queues: ReadonlyMap<string, Queue>,
  taken: ReadonlySet<string> = new Set(),
): ReadonlyMap<Queue, Flow> => {
  const flows = new Map<Queue, Flow>();
  for (const add of addsOf(operations)) {
    const queue = queues.get(queueName({ name: add.queue, generation: add.generation }));
    if (queue === undefined) continue;
    const sizes = add.sizes.filter((_, index) => !taken.has(copyName(add, index)));
    const inBytes = sizes.reduce((a, b) => a + b, 0);
    const endsByItself = add.ttlSeconds.some((seconds) => seconds > 0);
    flows.set(queue, addFlow(flows.get(queue) ?? noFlow, { inMessages: sizes.length, inBytes, endsByItself }));
  }
  return flows;
};

/** Limited queues that a branch may add to: depth is reserved on all of them in one commit of 100, beside the branch. */
export const RESERVATIONS = 99;

/** Reserves depth for what a branch adds: one write for each limited queue. */
export const reservations = (operations: readonly Operation[], queues: ReadonlyMap<string, Queue>): readonly Write[] =>
  [...inflowOf(operations, queues)].flatMap(([queue, flow]) => moveCapacity(queue, flow));

/** Whether all that a branch adds finds room as things are: asked before it is counted, so that only a race counts what is refused. */
export const canReserve = async (...of: Parameters<typeof findFull>): Promise<boolean> =>
  (await findFull(...of)).length === 0;

/** The queues that have no room for what a branch adds, as things are; rings last, for they may drop something. */
export const findFull = async (
  context: Context,
  operations: readonly Operation[],
  queues: ReadonlyMap<string, Queue>,
  taken: ReadonlySet<string> = new Set(),
): Promise<readonly Queue[]> => {
  const flows = [...inflowOf(operations, queues, taken)];
  const areFree = await Promise.all(flows.map(([queue, flow]) => hasRoom(context, queue, flow)));
  const isRing = ({ settings }: Queue) => settings.overflow === "ring";
  return flows
    .flatMap(([queue], i) => (areFree[i] === true ? [] : [queue]))
    .toSorted((a, b) => Number(isRing(a)) - Number(isRing(b)));
};

/** As `canReserve`, for a commit that finds its duplicates itself: they need no room. */
export const hasRoomForBranch = async (
  context: Context,
  operations: readonly Operation[],
  queues: ReadonlyMap<string, Queue>,
): Promise<boolean> => {
  if (await canReserve(context, operations, queues)) return true;
  const taken = await Promise.all([...queues.values()].map((queue) => findTaken(context, queue, addsOf(operations))));
  return canReserve(context, operations, queues, new Set(taken.flat()));
};

/** The copies whose deduplication id an earlier message has taken, on the queue or in the branch. */
const findTaken = async (context: Context, queue: Queue, adds: readonly Add[]): Promise<readonly string[]> => {
  const own = adds.filter((add) => add.queue === queue.name && add.generation === queue.generation);
  const ids = own.flatMap((add) => add.deduplications.map(([, id]) => id));
  const firsts = await findFirsts(context, queue, ids);
  const known = own.flatMap((add) =>
    add.deduplications.flatMap(([index, id]) => (firsts.has(id) ? [copyName(add, index)] : [])),
  );
  return [...known, ...repeatsIn(own)];
};

/**
 * Makes room for a branch on the limited queues that it adds to, in commits of their own: the first time, full ones are rid of
 * what time has ended there; then rings drop their oldest available messages, unless another queue has no room in any case.
 * False when none of that can help.
 */
export const makeRoomForBranch = async (
  context: Context,
  operations: readonly Operation[],
  isFirstTime: boolean,
): Promise<boolean> => {
  const queues = await loadQueues(context, operations);
  const limited = [...inflowOf(operations, queues)].filter(([{ settings }]) => isLimited(settings));
  const rings = limited.filter(([{ settings }]) => settings.overflow === "ring");
  let made = false;
  for (const [queue, flow] of limited) {
    if (queue.settings.overflow === "ring" || (await hasRoom(context, queue, flow))) continue;
    made = (isFirstTime && (await sweepEnded(context, queue))) || made;
    if (!(await hasRoomForBranch(context, operations, new Map([[queueName(queue), queue]])))) return false;
  }
  for (const [queue, flow] of rings) {
    const need = { messages: flow.inMessages, bytes: flow.inBytes };
    if (!(await hasRoom(context, queue, flow))) await sendOnOldest(context, queue, need);
    if (!(await dropOldestNow(context, queue, need))) return false;
    made = true;
  }
  return made;
};
