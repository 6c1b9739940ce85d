import { isPersisted } from "../domain/durability.ts";
import type { Message } from "../domain/message.ts";
import type { Queue } from "../domain/queue.ts";
import type { Routed, Target } from "./put.ts";

/** What a call's messages ask of each queue: one decision for storing, completing and ordering. */
export interface ByDurability {
  /** Put at once: all that is persisted, and in a session whatever goes to a queue of strict order. In the order given. */
  readonly stored: readonly Target[];
  /** Handed to the command queue. */
  readonly handedOn: readonly Target[];
  /** Whether anything must be persisted before the call is complete. */
  readonly isPersisted: boolean;
}

/** On a queue of strict order, both kinds of a session's messages take one path. */
export const byDurability = ({ targets }: Pick<Routed, "targets">, isInSession: boolean): ByDurability => {
  const isOrdered = ({ settings }: Queue) => settings.strictOrder && isInSession;
  const only = (isWanted: (queue: Queue, message: Message) => boolean): readonly Target[] =>
    targets.flatMap(({ queue, messages }) => {
      const wanted = messages.filter((message) => isWanted(queue, message));
      return wanted.length === 0 ? [] : [{ queue, messages: wanted }];
    });
  const mustPersist = ({ settings }: Queue, { properties }: Message) => isPersisted(settings, properties);
  return {
    stored: only((queue, message) => mustPersist(queue, message) || isOrdered(queue)),
    handedOn: only((queue, message) => !mustPersist(queue, message) && !isOrdered(queue)),
    isPersisted: targets.some(({ queue, messages }) => messages.some((message) => mustPersist(queue, message))),
  };
};

/** The same with an id for each message that has none: `base` and its place. */
export const withIds = (routed: Routed, base: string): Routed => {
  const names = new Map(routed.messages.map((message, i) => [message, named(message, `${base}-${i}`)]));
  const nameOf = (message: Message): Message => names.get(message) ?? message;
  return {
    messages: routed.messages.map(nameOf),
    targets: routed.targets.map(({ queue, messages }) => ({ queue, messages: messages.map(nameOf) })),
  };
};

/** The message with that id, unless it bears one. */
export const named = (message: Message, id: string): Message =>
  message.properties.messageId === undefined
    ? { ...message, properties: { ...message.properties, messageId: id } }
    : message;
