import { addCounters } from "../../domain/counter.ts";
import { changesPk, storeKey } from "../../records/keys.ts";
import { changesApplied, readStore, type StoreRecord } from "../../records/store.ts";
import type { Item } from "../../records/write.ts";
import type { Context } from "../context.ts";
import { namesPages } from "../pages.ts";
import { type Count, countTails } from "./count-tails.ts";

/** What a look at a store needs; the operator's command line has no more. */
export type StoreContext = Pick<Context, "store" | "now">;

/** The store's record and its counter, which belong together: the record is read last (`count-tails.ts`). */
export interface CountedStore {
  readonly store: StoreRecord;
  /** Unsigned 64 bits: every enqueue and every dequeue on a queue is one. */
  readonly changeCounter: bigint;
  /** No queue was ever declared. */
  readonly isUnused: boolean;
}

/** A primary's counter is that of its queues, a replica's what it has applied. */
export const readCounted = async (context: StoreContext): Promise<CountedStore> => {
  for (let store = readStore(await context.store.read(storeKey)); ; ) {
    const isReplica = store.configuration?.role === "replica";
    const count = isReplica ? await countApplied(context) : await countTails(context);
    store = readStore(await context.store.read(storeKey));
    // Promoted in between: what was counted is not what counts now.
    if ((store.configuration?.role === "replica") !== isReplica) continue;
    const { changes, tails } = count(store);
    return {
      store,
      changeCounter: addCounters(store.base, changes),
      isUnused: tails === 0 && store.buried === null && store.base === 0n,
    };
  }
};

const countApplied = async (context: StoreContext): Promise<Count> => {
  const items: Item[] = [];
  for await (const page of namesPages(context, changesPk)) items.push(...page);
  return () => ({ changes: changesApplied(items), tails: items.length });
};
