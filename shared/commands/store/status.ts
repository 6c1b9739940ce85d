import { randomUUID } from "node:crypto";
import { addCounters } from "../../domain/counter.ts";
import type { StoreState, StoreStatus } from "../../domain/store-status.ts";
import { changesPk, storeKey } from "../../records/keys.ts";
import { Unreadable } from "../../records/reading.ts";
import { changesApplied, readStore, type StoreRecord, setStoreId } from "../../records/store.ts";
import type { Item } from "../../records/write.ts";
import type { Context } from "../context.ts";
import { namesPages } from "../pages.ts";
import { type Count, countTails } from "./count-tails.ts";

/** What a look at a store needs; the operator's command line has no more. */
export type StoreContext = Pick<Context, "store" | "now">;

/** What the store says of itself. Gives it its id when it has none yet. */
export const storeStatus = async (context: StoreContext): Promise<StoreStatus & { readonly storeId: string }> => {
  const status = await readStoreStatus(context);
  return { ...status, storeId: status.storeId ?? (await ensureStoreId(context)) };
};

/** The same, only reading: a store that has no id yet has none in the answer. 18 reads, with a page of tails a shard. */
export const readStoreStatus = async (context: StoreContext): Promise<StoreStatus> => {
  const counted = await readCounted(context);
  const { store, changeCounter } = counted;
  const { configuration, shutdown } = store;
  return {
    storeId: store.storeId,
    clusterId: configuration?.clusterId ?? null,
    changeCounter,
    configChange: configuration?.configChange ?? null,
    configId: configuration?.configId ?? null,
    changeCounterAtConfigChange: configuration?.changeCounter ?? null,
    role: configuration?.role ?? "primary",
    state: stateOf(counted),
    shutdownId: shutdown?.shutdownId ?? null,
    changeCounterAtShutdown: shutdown?.changeCounter ?? null,
    members: configuration?.members ?? [],
    readAt: new Date(context.now()).toISOString(),
  };
};

/** The store's id, which the first who needs it makes up. */
export const ensureStoreId = async (context: StoreContext): Promise<string> => {
  const storeId = randomUUID();
  const commit = await context.store.commit([setStoreId(storeId)]);
  if (commit.done) return storeId;
  const item = await context.store.read(storeKey);
  const known = readStore(item).storeId;
  if (known === null) throw new Unreadable({ ...storeKey }, "has no id, and takes none");
  return known;
};

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

const stateOf = ({ store, changeCounter, isUnused }: CountedStore): StoreState => {
  if (store.shutdown?.changeCounter === changeCounter) return "clean";
  return isUnused && store.configuration === null ? "empty" : "dirty";
};
