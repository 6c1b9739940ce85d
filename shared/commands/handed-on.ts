import type { Message } from "../domain/message.ts";
import { type Queue, queueName } from "../domain/queue.ts";
import { appliedKey } from "../records/keys.ts";
import { type First, ifInForce } from "../records/remembered.ts";
import type { Context } from "./context.ts";
import { findFirstsOf, withoutDuplicates } from "./duplicates.ts";
import type { Target } from "./put.ts";
import type { BecameOn } from "./put-answer.ts";

/** Messages for one queue that need not be stored before they are handed on. */
export interface HandedOn {
  /** As the answer tells it: they have their ids and no sequence yet, but for what the queue has already. */
  readonly became: BecameOn;
  /** What the command queue is given; none when the queue has all of it already. */
  readonly target: Target | undefined;
}

/** A call that may be repeated before its answer is remembered: it then hands on the same under the same `id`. */
interface Repeatable {
  readonly id: string;
}

/**
 * What is to be handed on, looked up by the deduplication ids: what the queue has already is a duplicate and is not handed
 * on. Reads only, and nothing where there are no such ids. An id that is on its way is not known yet: the worker drops what
 * comes second. `stored`: what the same call stores, and is first on its queue therefore.
 */
export const lookUp = (
  context: Context,
  targets: readonly Target[],
  stored: readonly Target[] = [],
  call?: Repeatable,
): Promise<readonly HandedOn[]> =>
  Promise.all(
    targets.map(async (target) => {
      const known = await knownOn(context, target, call);
      const storedThere = stored.find(({ queue }) => queue === target.queue)?.messages ?? [];
      return handedOnTo(target, known, storedThere, call !== undefined);
    }),
  );

/** Nothing of it known: as it is answered when all of it is handed on. */
export const handedOnTo = (
  { queue, messages }: Target,
  duplicates: ReadonlyMap<string, First> = new Map(),
  stored: readonly Message[] = [],
  isRepeatable = false,
): HandedOn => {
  const met = new Map([...duplicates.keys(), ...stored.flatMap(idsOf)].map((id) => [id, undefined]));
  const left = messages.filter((message) => !idsOf(message).some((id) => met.has(id)));
  const firsts = new Map(
    withoutDuplicates(messages, met).map((message) => {
      const { messageId } = message.properties;
      if (messageId === undefined) throw new Error("what is handed on bears its id");
      return [message, { messageId }];
    }),
  );
  // Its parts are counted: a repetition that left out what is known by now would give them other messages.
  const toHandOn = isRepeatable ? messages : left;
  return {
    became: { queue, messages, firsts, duplicates },
    target: left.length === 0 ? undefined : { queue, messages: toHandOn },
  };
};

/** Whether the queues are those of now: what is handed on meets no tail that a deletion could have closed. */
export const areThere = async (context: Context, targets: readonly Target[]): Promise<boolean> => {
  const found = await Promise.all(
    targets.map(({ queue }) => context.settings.find(context.store, queue.name, context.now(), true)),
  );
  return targets.every(({ queue }, i) => found[i]?.generation === queue.generation);
};

const idsOf = ({ properties: { deduplicationId: id } }: Message): readonly string[] => (id === undefined ? [] : [id]);

/** What the queue has, but for what an earlier attempt of the very call has brought there. */
const knownOn = async (
  context: Context,
  { queue, messages }: Target,
  call: Repeatable | undefined,
): Promise<ReadonlyMap<string, First>> => {
  if (messages.every((message) => idsOf(message).length === 0)) return new Map();
  const known = await findFirstsOf(context, queue, messages);
  if (call === undefined) return known;
  const bearers = withoutDuplicates(messages, new Map());
  const isNamesake = ([id, { messageId }]: readonly [string, First]): boolean =>
    bearers.some(({ properties }) => properties.deduplicationId === id && properties.messageId === messageId);
  if (![...known].some(isNamesake) || !(await hasCome(context, call.id, queue))) return known;
  return new Map([...known].filter((one) => !isNamesake(one)));
};

/** Whether anything of the call has come to the queue: its parts come in order, and `handOn` numbers them from 0. */
const hasCome = async (context: Context, id: string, queue: Queue): Promise<boolean> =>
  ifInForce(await context.store.read(appliedKey(`${id}#${queueName(queue)}#0`)), context.now()) !== undefined;
