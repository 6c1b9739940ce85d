import { generationName, shards, tailShard } from "../../records/keys.ts";
import { readTail } from "../../records/queue.ts";
import { text } from "../../records/reading.ts";
import type { StoreRecord } from "../../records/store.ts";
import type { Item } from "../../records/write.ts";
import type { Context } from "../context.ts";
import { namesPages } from "../pages.ts";

/** What was counted, once the store's record, read later, says for which queues it counts itself. */
export type Count = (store: StoreRecord) => {
  readonly changes: bigint;
  /** Records that counted, or did before the store's took them over. */
  readonly tails: number;
};

/**
 * Reads all tails, a query a shard; then the caller reads the store's record. In this order no change is missed or counted
 * twice, and no count is below an earlier one, for a queue is buried in the other order: a tail whose queue the record
 * names is counted there; one that was gone already is too, because the record is younger; and tails only go up.
 */
export const countTails = async (context: Pick<Context, "store">): Promise<Count> => {
  const tails = (await Promise.all(shards.map((shard) => tailsIn(context, shard)))).flat();
  return (store) => ({
    changes: tails
      .filter((tail) => store.folded?.has(queueOf(tail)) !== true)
      .map(changesOf)
      .reduce((a, b) => a + b, buriedOf(store)),
    tails: tails.length,
  });
};

const tailsIn = async (context: Pick<Context, "store">, shard: string): Promise<readonly Item[]> => {
  const items: Item[] = [];
  for await (const page of namesPages(context, tailShard(shard))) items.push(...page);
  return items;
};

const queueOf = (tail: Item): string => {
  const [name = "", generation = ""] = text(tail, "sk").split("#");
  return generationName({ name, generation });
};

/** A message that goes to a dead-letter queue leaves here and enters there. */
const changesOf = (item: Item): bigint => {
  const { enqueued, settled, deadLettered } = readTail(item);
  return BigInt(enqueued) + BigInt(settled) + BigInt(deadLettered);
};

const buriedOf = ({ buried }: StoreRecord): bigint =>
  buried === null ? 0n : BigInt(buried.enqueued) + BigInt(buried.settled) + BigInt(buried.deadLettered);
