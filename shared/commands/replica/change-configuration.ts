import { randomUUID } from "node:crypto";
import { addCounters, compareSerials } from "../../domain/counter.ts";
import type { Member } from "../../domain/store-status.ts";
import { storeKey } from "../../records/keys.ts";
import { type Configuration, readStore, setConfiguration } from "../../records/store.ts";
import type { Write } from "../../records/write.ts";
import { type Store, Unavailable } from "../../store/port.ts";
import { readCounted, type StoreContext } from "../store/counted.ts";
import { inSync, type OpenStore, withMember } from "./members.ts";

/** Another change of the cluster came first: read again, decide again. */
export class Overtaken extends Unavailable {}

/**
 * Changes the cluster's membership: the next `configChange`, one new `configId`, and the counter at it, in one write at the
 * primary and then one at each replica that is in sync. The counter is the primary's, as it was when the last of these
 * replicas had counted so far: so no member's counter ever lies behind it. Throws `Overtaken`, and `Unavailable` when
 * a replica that stays cannot be reached: nothing has changed then.
 */
export const changeConfiguration = async (
  context: StoreContext,
  open: OpenStore,
  read: Configuration,
  members: readonly Member[],
): Promise<Configuration> => {
  const next: Configuration = {
    ...read,
    members,
    configChange: addCounters(read.configChange, 1n),
    configId: randomUUID(),
  };
  const replicas = inSync(next).map(open);
  const counters = await Promise.all(
    [context.store, ...replicas].map(async (store) => counterOf({ ...context, store })),
  );
  const changeCounter = counters.reduce((least, counter) => (compareSerials(counter, least) < 0 ? counter : least));
  const changed = { ...next, changeCounter };
  await commitOrFail(context.store, setConfiguration(read, changed), "the cluster was changed by another");
  return tellAll(context, open, changed);
};

/**
 * Stores the configuration at every replica that commands wait for and that does not have it, then notes that at the
 * primary. Throws `Unavailable` when a replica cannot be reached, or is none any more.
 */
export const tellAll = async (
  context: Pick<StoreContext, "store">,
  open: OpenStore,
  configuration: Configuration,
): Promise<Configuration> => {
  const untold = inSync(configuration).filter(({ told }) => told !== configuration.configChange);
  if (untold.length === 0) return configuration;
  await Promise.all(untold.map((member) => tell(open(member), configuration)));
  const told = untold.reduce(
    (members, member) => withMember(members, { ...member, told: configuration.configChange }),
    configuration.members,
  );
  const noted = { ...configuration, members: told };
  // Whoever was first noted the same, or has changed the cluster: both is there to be read.
  await context.store.commit([setConfiguration(configuration, noted)]);
  return noted;
};

/** Stores the pair at one replica, over an older one of its cluster. */
export const tell = async (replica: Store, configuration: Configuration): Promise<void> => {
  const known = await readConfiguration(replica);
  if (known?.configId === configuration.configId) return;
  if (known !== null && known.clusterId === configuration.clusterId && isLater(known, configuration)) {
    throw new Unavailable("the replica knows a later configuration: another store of the cluster was promoted");
  }
  const write = setConfiguration(known, { ...configuration, role: "replica" });
  await commitOrFail(replica, write, "the replica was told something else");
};

const isLater = (known: Configuration, told: Configuration): boolean =>
  compareSerials(known.configChange, told.configChange) >= 0;

const counterOf = async (context: StoreContext): Promise<bigint> => (await readCounted(context)).changeCounter;

const commitOrFail = async (store: Store, write: Write, message: string): Promise<void> => {
  const commit = await store.commit([write]);
  if (!commit.done) throw new Overtaken(message);
};

/** The configuration in the store's record; of a store that was never in a cluster, null. */
export const readConfiguration = async (store: Store): Promise<Configuration | null> =>
  readStore(await store.read(storeKey)).configuration;

export const mustBePrimary = (configuration: Configuration | null): void => {
  if (configuration?.role === "replica") {
    throw new Unavailable("this store is a replica: it takes no calls until it is promoted");
  }
};
