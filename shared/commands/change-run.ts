import { fnv1a } from "../domain/hash.ts";
import { RECORDS_PER_COMMIT } from "../domain/limits.ts";
import type { DeadLetterReason, Message } from "../domain/message.ts";
import { isLimited, partitionFor, type Queue } from "../domain/queue.ts";
import { messageIdOf, type Run, slotAt } from "../domain/run.ts";
import { partitionName } from "../records/keys.ts";
import { addFlow, type Capacity, countEnqueued, moveCapacity, noFlow, positionFrom } from "../records/queue.ts";
import { putNewRun, writeRun } from "../records/run.ts";
import { Unavailable } from "../store/port.ts";
import type { Context } from "./context.ts";
import { clearRoom, countRoom, dropOldest, freeCapacity, noRoom, type Room, roomWrites } from "./drop-oldest.ts";
import {
  type Changed,
  type Changing,
  type Counted,
  countLeaving,
  deleteBodies,
  leaving,
  nothingCounted,
  outflow,
  writeLeaving,
} from "./leave.ts";
import { buildRun } from "./new-run.ts";
import { commitNaming, loadMessages } from "./payload.ts";

/** A message on its way to the dead-letter queue; `note` is what the caller said of it. */
export interface Dead {
  readonly index: number;
  readonly reason: DeadLetterReason;
  readonly note?: string;
}

/** Attempts to find a place on a dead-letter queue that is deleted, declared or filled by others at the same time. */
const ROUNDS = 8;
/** Of a commit: the run and its queue's capacity, the dead letters' run and its queue's, the two that close a command. */
const RECORDS_OF_A_MOVE = 6;

/**
 * Writes a changed run. What `after` newly settles is counted at its tail, before the change is made; the dead letters
 * among it (`dead`) move to the dead-letter queue in the same commit, bodies copied and order kept. Capacity is given
 * back, and the payload of a run that is gone is deleted. A dead-letter queue that is gone or full takes nothing: then
 * they are dropped and counted as settled. Nothing newly settled: one plain write, nothing counted.
 */
export const changeRun = async (
  context: Context,
  queue: Queue,
  before: Run,
  after: Run,
  dead: readonly Dead[],
  changing: Changing = {},
): Promise<Changed> => {
  const { deadLetterQueue } = queue.settings;
  if (dead.length === 0 || deadLetterQueue === null) {
    return writeLeaving(context, queue, before, after, changing);
  }
  const letters = await lettersOf(context, queue, before, dead);
  let counted = changing.already ?? nothingCounted;
  for (let round = 0; round < ROUNDS; round++) {
    const target = await context.settings.find(context.store, deadLetterQueue, context.now(), round > 0);
    if (target === undefined) return writeLeaving(context, queue, before, after, { ...changing, already: counted });
    const moved = await move(context, { ...changing, queue, before, after, already: counted }, target, letters);
    if ("done" in moved) return moved;
    counted = moved.counted;
  }
  throw new Unavailable("the dead-letter queue changed at every attempt");
};

interface Change extends Changing {
  readonly queue: Queue;
  readonly before: Run;
  readonly after: Run;
  readonly already: Counted;
}

/** The dead-letter queue is not as it was found: the move is to be decided again. */
interface Again {
  readonly counted: Counted;
}

/** Copies of the dead letters, in their order; one whose body is gone already (its time was long over) is left out. */
const lettersOf = async (
  context: Context,
  queue: Queue,
  run: Run,
  dead: readonly Dead[],
): Promise<readonly Message[]> => {
  const inOrder = dead.toSorted((a, b) => a.index - b.index);
  const messages = await loadMessages(
    context,
    run.payload,
    inOrder.map(({ index }) => index),
  );
  const deadLetteredAtMs = context.now();
  return inOrder.flatMap(({ index, reason, note }) => {
    const message = messages.get(index);
    if (message === undefined) return [];
    const slot = slotAt(run, index);
    const deliveryCount = slot.state === "settled" ? 0 : slot.deliveries;
    // Its time to live was for its first queue; on this one it is measured by this one's settings.
    const { ttlSeconds: _over, ...properties } = message.properties;
    return [
      {
        body: message.body,
        properties: {
          ...properties,
          messageId: properties.messageId ?? messageIdOf(run.messageIdBase, index),
          deadLetter: {
            queue: queue.name,
            reason,
            ...(note !== undefined && { note }),
            deliveryCount,
            deadLetteredAtMs,
          },
        },
      },
    ];
  });
};

const move = async (
  context: Context,
  change: Change,
  target: Queue,
  letters: readonly Message[],
): Promise<Changed | Again> => {
  const { queue, before, after, already, beside = [] } = change;
  const { fitting, room } = await place(context, target, letters);
  if (fitting.length === 0) return writeLeaving(context, queue, before, after, change);
  const run = await newRunOn(context, target, before, fitting);
  if (run === undefined) return { counted: already };
  const indexes = leaving(before, after);
  const wanted = { settled: indexes.length - fitting.length, dead: fitting.length };
  const counted = await countLeaving(context, before.key, wanted, already);
  const write = writeRun(before, after);
  const inflow = addFlow(noFlow, { inMessages: fitting.length, inBytes: bytesOf(fitting) });
  const commit = await commitNaming(
    context,
    [run.payload],
    [
      write,
      ...moveCapacity(queue, outflow(before, indexes)),
      putNewRun(run),
      ...moveCapacity(target, inflow, room.dropped),
      ...roomWrites(room),
      ...beside,
    ],
  );
  if (commit.done) {
    await deleteBodies(context, queue, before, after);
    await clearRoom(context, target, room);
    return { done: true };
  }
  const failure = commit.failures.find((f) => f.write === write);
  if (failure === undefined) return { counted };
  return { done: false, found: failure.found, repeated: commit.repeated, counted };
};

/** The run that messages from another one become; undefined when the queue was deleted meanwhile. */
export const newRunOn = async (
  context: Context,
  target: Queue,
  from: Run,
  letters: readonly Message[],
): Promise<Run | undefined> => {
  // What comes from one partition stays in one, and so in order.
  const partition = partitionFor(target.settings, undefined, fnv1a(partitionName(from.key)));
  const ref = { name: target.name, generation: target.generation, partition };
  const counted = await context.store.count(countEnqueued(ref, letters.length));
  if (counted === undefined) return undefined;
  return buildRun(context, target, partition, positionFrom(counted, letters.length), letters, context.now());
};

/** The letters that the queue has room for: a full one takes the oldest that fit, a ring the newest. */
const place = async (
  context: Context,
  target: Queue,
  letters: readonly Message[],
): Promise<{ readonly fitting: readonly Message[]; readonly room: Room }> => {
  if (!isLimited(target.settings)) return { fitting: letters, room: noRoom };
  if (target.settings.overflow === "ring") {
    const { maxMessages, maxBytes } = target.settings;
    const newest = prefixWithin(letters.toReversed(), {
      ...(maxMessages !== null && { messages: maxMessages }),
      ...(maxBytes !== null && { bytes: maxBytes }),
    }).toReversed();
    const need = { messages: newest.length, bytes: bytesOf(newest) };
    const room = await dropOldest(context, target, need, RECORDS_PER_COMMIT - RECORDS_OF_A_MOVE);
    if (room !== undefined) {
      await countRoom(context, room);
      return { fitting: newest, room };
    }
  }
  return { fitting: prefixWithin(letters, await freeCapacity(context, target)), room: noRoom };
};

/** The first letters that fit so much room. */
export const prefixWithin = (letters: readonly Message[], { messages, bytes }: Capacity): readonly Message[] => {
  let used = 0;
  const end = letters.findIndex(({ body }, i) => {
    used += body.length;
    return (messages !== undefined && i >= messages) || (bytes !== undefined && used > bytes);
  });
  return end === -1 ? letters : letters.slice(0, end);
};

const bytesOf = (messages: readonly Message[]): number => messages.reduce((sum, { body }) => sum + body.length, 0);
