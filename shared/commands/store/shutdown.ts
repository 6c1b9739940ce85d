import { randomUUID } from "node:crypto";
import type { Member } from "../../domain/store-status.ts";
import { setShutdown } from "../../records/store.ts";
import type { Store } from "../../store/port.ts";
import { type CountedStore, readCounted, type StoreContext } from "./counted.ts";
import { ensureStoreId } from "./status.ts";

/** A store of the cluster whose table could be read. */
export interface ReachedStore extends CountedStore {
  readonly storeId: string;
  readonly context: StoreContext;
}

export type ShutDown =
  | {
      readonly done: true;
      readonly shutdownId: string;
      readonly marked: readonly { readonly storeId: string; readonly changeCounter: bigint }[];
      /** Members that were not in sync, or were to be left out: they are not clean. */
      readonly leftOut: readonly string[];
    }
  /** Sentences that say why not. */
  | { readonly done: false; readonly problems: readonly string[] };

export interface ShutdownWanted {
  /** Opens the table of another member; it throws where it cannot, or its store does when it is read. */
  readonly open: (member: Member) => Promise<Store> | Store;
  /** Ids of members that need not be reached. */
  readonly without: readonly string[];
  /** What else must hold before anything is marked; sentences that say what does not. */
  readonly check?: (stores: readonly ReachedStore[]) => Promise<readonly string[]>;
}

/**
 * Notes an orderly shutdown in the store and in all others of its cluster that are in sync, the same id and each one's own
 * counter. Nothing is written unless all of them were reached. Whoever is still at work then makes them dirty again.
 */
export const shutDown = async (context: StoreContext, wanted: ShutdownWanted): Promise<ShutDown> => {
  const own = await reachOwn(context);
  const members = own.store.configuration?.members ?? [];
  const unknown = wanted.without.filter((id) => id === own.storeId || !members.some(({ storeId }) => storeId === id));
  if (unknown.length > 0) return refused(unknown.map((id) => `${id} is not another member of the cluster`));
  const isWanted = ({ storeId, state }: Member) => state === "in-sync" && !wanted.without.includes(storeId);
  const others = members.filter((member) => member.storeId !== own.storeId);
  const reached = await Promise.all(others.filter(isWanted).map((member) => reach(context, own, member, wanted)));
  const problems = reached.filter((each) => typeof each === "string");
  if (problems.length > 0) return refused(problems);
  const stores = [own, ...reached.filter((each) => typeof each !== "string")];
  const unfit = (await wanted.check?.(stores)) ?? [];
  if (unfit.length > 0) return refused(unfit);
  const leftOut = others.filter((member) => !isWanted(member)).map(({ storeId }) => storeId);
  return mark(stores, leftOut);
};

const refused = (problems: readonly string[]): ShutDown => ({ done: false, problems });

const reachOwn = async (context: StoreContext): Promise<ReachedStore> => {
  const storeId = await ensureStoreId(context);
  return { ...(await readCounted(context)), storeId, context };
};

/** The member's store, or why it cannot be marked. */
const reach = async (
  { now }: StoreContext,
  own: ReachedStore,
  member: Member,
  { open }: ShutdownWanted,
): Promise<ReachedStore | string> => {
  const named = `member ${member.storeId} (table ${member.table})`;
  try {
    const context: StoreContext = { store: await open(member), now };
    const counted = await readCounted(context);
    const { storeId, configuration } = counted.store;
    if (storeId !== member.storeId) return `${named} is not there: the table holds ${storeId ?? "a store without id"}`;
    const { configId } = own.store.configuration ?? {};
    if (configuration?.configId !== configId) return `${named} has another configuration: it was not told, or went on`;
    return { ...counted, storeId, context };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return `${named} cannot be reached: ${why}; to leave it behind, dirty: --without ${member.storeId}`;
  }
};

const mark = async (stores: readonly ReachedStore[], leftOut: readonly string[]): Promise<ShutDown> => {
  const shutdownId = randomUUID();
  const problems: string[] = [];
  for (const { store, changeCounter, context, storeId } of stores) {
    const commit = await context.store.commit([setShutdown(store.configuration, { shutdownId, changeCounter })]);
    if (!commit.done) problems.push(`store ${storeId} changed its configuration meanwhile; shut down again`);
  }
  if (problems.length > 0) return refused(problems);
  return {
    done: true,
    shutdownId,
    marked: stores.map(({ storeId, changeCounter }) => ({ storeId, changeCounter })),
    leftOut,
  };
};
