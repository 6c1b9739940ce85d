import type { EnqueueAnswer, Enqueued } from "../domain/enqueued.ts";
import type { Message } from "../domain/message.ts";
import type { Queue } from "../domain/queue.ts";

/** What a message is on a queue. Without a sequence it waits on its branch. */
export interface Became {
  readonly messageId: string;
  readonly sequence?: string;
}

/** What became of the messages of one queue: of those that were put, and of the first ones that others are duplicates of. */
export interface BecameOn {
  readonly queue: Queue;
  readonly messages: readonly Message[];
  readonly firsts: ReadonlyMap<Message, Became>;
  readonly duplicates: ReadonlyMap<string, Became>;
}

/** The answer for messages by what became of them on each queue. One is a duplicate when it is one on each of its queues. */
export const answerOf = (
  messages: readonly Message[],
  queues: readonly BecameOn[],
  completed: boolean,
): EnqueueAnswer => {
  const became = new Map(messages.map((message) => [message, [] as One[]]));
  // What a call stores on a queue stands before what it hands on there: an id of both is the first one's.
  const knownOn = new Map(queues.map(({ queue }) => [queue.name, new Map<string, Became>()]));
  for (const { queue, messages: own, firsts, duplicates } of queues) {
    const byId = knownOn.get(queue.name) ?? new Map<string, Became>();
    for (const [id, first] of duplicates) byId.set(id, first);
    for (const [{ properties }, first] of firsts) {
      if (properties.deduplicationId !== undefined) byId.set(properties.deduplicationId, first);
    }
    for (const message of own) {
      const put = firsts.get(message);
      const first = put ?? byId.get(message.properties.deduplicationId ?? "");
      if (first === undefined) throw new Error("a duplicate has no first");
      became.get(message)?.push({ ...first, queue: queue.name, duplicate: put === undefined });
    }
  }
  return { messages: messages.map((message) => enqueuedAs(message, became.get(message) ?? [])), completed };
};

interface One extends Became {
  readonly queue: string;
  readonly duplicate: boolean;
}

const enqueuedAs = ({ properties }: Message, ones: readonly One[]): Enqueued => {
  const id = ones.find(({ duplicate }) => !duplicate)?.messageId ?? ones[0]?.messageId ?? properties.messageId;
  if (id === undefined) throw new Error("a message has no id");
  return {
    messageId: id,
    queues: ones.map(({ queue, sequence }) => ({ queue, ...(sequence !== undefined && { sequence }) })),
    duplicate: ones.length > 0 && ones.every(({ duplicate }) => duplicate),
  };
};
