/** Changes of queues, as a replica counts them: each message that is enqueued, and each that is settled. */
import type { RunKey } from "../domain/run.ts";
import { liveCount } from "../domain/run.ts";
import { readRun } from "./run.ts";
import type { Item, Key } from "./write.ts";

/** The run that lies at this key; undefined when it is the key of another record. */
export const runKeyAt = ({ pk, sk }: Key): RunKey | undefined => {
  const partition = /^QUEUE#([^#]+)#([^#]+)#(\d+)$/.exec(pk);
  const position = /^M#(\d{20})$/.exec(sk);
  if (partition === null || position === null) return undefined;
  const [, name = "", generation = ""] = partition;
  return { name, generation, partition: Number(partition[3]), position: Number(position[1]) };
};

/**
 * The changes that brought the record to where it is: of a run, its messages and those of them that are settled; none of
 * another record or of one that is not there. Throws `Unreadable`.
 */
export const changesOf = (item: Item | undefined): number => {
  const counted = countedOf(item);
  return counted === undefined ? 0 : counted.messages + counted.settled;
};

/** The changes of a run from its first message to the end of its last. */
export const allChangesOf = (item: Item | undefined): number => 2 * (countedOf(item)?.messages ?? 0);

const countedOf = (item: Item | undefined): { messages: number; settled: number } | undefined => {
  const key = item && runKeyAt({ pk: String(item.pk), sk: String(item.sk) });
  if (item === undefined || key === undefined) return undefined;
  const run = readRun(item, key);
  const messages = run.slots.length;
  return { messages, settled: messages - liveCount(run) };
};
