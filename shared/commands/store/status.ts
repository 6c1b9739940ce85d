import { randomUUID } from "node:crypto";
import type { StoreState, StoreStatus } from "../../domain/store-status.ts";
import { storeKey } from "../../records/keys.ts";
import { Unreadable } from "../../records/reading.ts";
import { readStore, setStoreId } from "../../records/store.ts";
import { type CountedStore, readCounted, type StoreContext } from "./counted.ts";

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

const stateOf = ({ store, changeCounter, isUnused }: CountedStore): StoreState => {
  if (store.shutdown?.changeCounter === changeCounter) return "clean";
  return isUnused && store.configuration === null ? "empty" : "dirty";
};
