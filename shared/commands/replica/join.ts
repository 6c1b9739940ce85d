import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { addCounters, COUNTER_MAX, compareSerials, counterDistance } from "../../domain/counter.ts";
import { MEMBERS_KNOWN_MS, REPLICA_TIMEOUT_SECONDS, REPLICAS } from "../../domain/limits.ts";
import type { Member } from "../../domain/store-status.ts";
import { unfenceShard } from "../../records/fence.ts";
import { changesPk, shards } from "../../records/keys.ts";
import { putPulse, stampOf } from "../../records/replication.ts";
import {
  type Configuration,
  changesApplied,
  setConfiguration,
  setCounter,
  setJoining,
  setPause,
} from "../../records/store.ts";
import { type Store, Unavailable, type WholeStore } from "../../store/port.ts";
import { readCounted, type StoreContext } from "../store/counted.ts";
import { ensureStoreId } from "../store/status.ts";
import { changeConfiguration, Overtaken, readConfiguration } from "./change-configuration.ts";
import { copyAll } from "./copy.ts";
import { type OpenStore, type Place, withMember } from "./members.ts";
import { hasOwnQueues } from "./own-queues.ts";

/** A change is counted a moment before it is made: calls that had begun are done after so long, in ms. */
const UNDER_WAY_MS = 1_000;
/** The longest that calls are held up when a store joins under load, in ms. */
const PAUSE_MS = 6_000;
/** What came last, in ms, when nothing has come since. */
const STILL_MS = 250;
const STILL_WITHIN_MS = 2_000;

const PULSE_POLL_MS = 50;

/** Why a store cannot join; nothing was changed. */
export class CannotJoin extends Error {
  override readonly name = "CannotJoin";
}

export interface Joining {
  /** Where the primary's own table is, as its members reach it. */
  readonly primary: Place;
  readonly replica: Place;
  readonly replicaTimeoutSeconds?: number;
}

/**
 * Brings a store into the cluster of the primary, which is made with the first one: from now on commands wait for it;
 * then it is given all records, then it is a member by a change of the configuration. A store that was a member before
 * joins again likewise: only what it lacks is written. Returns the configuration by which it is in.
 */
export const join = async (
  context: StoreContext & { readonly store: WholeStore },
  open: OpenStore,
  joining: Joining,
): Promise<Configuration> => {
  const replica = open(joining.replica);
  const storeId = await ensureStoreId({ ...context, store: replica });
  const asked: Member = { ...joining.replica, storeId, role: "replica", state: "joining" };
  const read = await planned(context, joining, asked, replica);
  // One that is in stays in meanwhile: it must hear of every change of the configuration.
  const known = read.configuration.members.find((one) => one.storeId === storeId);
  const member: Member = known !== undefined && isIn(known) ? { ...known, ...asked, state: "in-sync" } : asked;
  for (const shard of shards) await replica.commit([unfenceShard(shard)]);
  await mustBeFed(context, joining, replica);
  const begun = await begin(context, read, joining, member);
  if (!isIn(member)) await replica.commit([setJoining()]);
  const before = await readCounted(context);
  await copyAll(context.store, replica);
  const after = await readCounted(context);
  if (after.changeCounter !== before.changeCounter) await pause(context, begun.clusterId, joining, replica);
  return admit(context, open, begun.clusterId, member);
};

/**
 * Lets no call begin to write for a moment, and waits until those that had begun are done and what they wrote has come: so
 * the primary and the replica are counted at one state. It ends with the change of the configuration, or by itself.
 */
const pause = async (
  context: StoreContext,
  clusterId: string,
  joining: Joining,
  replica: WholeStore,
): Promise<void> => {
  const configuration = await readConfiguration(context.store);
  if (configuration?.clusterId !== clusterId) throw new Overtaken("the cluster was changed by another: try again");
  await context.store.commit([setPause(configuration, context.now() + PAUSE_MS)]);
  // By then every process has read of it, and calls that began before are done.
  await sleep(MEMBERS_KNOWN_MS + UNDER_WAY_MS);
  await mustBeFed(context, joining, replica);
  await untilStill(replica);
};

/** Until nothing more comes to the replica, or it takes too long. */
const untilStill = async (replica: WholeStore): Promise<void> => {
  const counted = async () => changesApplied((await replica.query({ pk: changesPk })).items);
  let last = await counted();
  for (const endMs = performance.now() + STILL_WITHIN_MS; performance.now() < endMs; ) {
    await sleep(STILL_MS);
    const now = await counted();
    if (now === last) return;
    last = now;
  }
};

/**
 * A record written now must come to the replica before commands wait for it: its feed may not run, or have much to make up
 * for.
 */
const mustBeFed = async (context: StoreContext, joining: Joining, replica: WholeStore): Promise<void> => {
  const seconds = joining.replicaTimeoutSeconds ?? REPLICA_TIMEOUT_SECONDS;
  const pulse = putPulse(context.now());
  await context.store.commit([pulse]);
  for (const endMs = performance.now() + seconds * 1_000; performance.now() < endMs; await sleep(PULSE_POLL_MS)) {
    if (stampOf(await replica.read(pulse.key)) >= stampOf(pulse.item)) return;
  }
  throw new CannotJoin(`nothing that is written comes to it within ${seconds} s: its feed does not run, or is behind`);
};

/** The cluster as it is, or as it begins; whether the store may join it is checked. */
const planned = async (
  context: StoreContext,
  { primary }: Joining,
  member: Member,
  replica: WholeStore,
): Promise<Plan> => {
  const storeId = await ensureStoreId(context);
  const { store, changeCounter } = await readCounted(context);
  const configuration = store.configuration ?? {
    clusterId: randomUUID(),
    configChange: 0n,
    configId: randomUUID(),
    changeCounter,
    role: "primary",
    members: [{ ...primary, storeId, role: "primary", state: "in-sync" }],
    replicaTimeoutSeconds: REPLICA_TIMEOUT_SECONDS,
  };
  await mayJoin({ store: context.store, configuration }, member, replica);
  return { read: store.configuration, configuration };
};

interface Plan {
  readonly read: Configuration | null;
  readonly configuration: Configuration;
}

/** Puts the member into the primary's record, as one that is joining. */
const begin = async (
  context: StoreContext,
  { read, configuration }: Plan,
  { replicaTimeoutSeconds }: Joining,
  member: Member,
): Promise<Configuration> => {
  const begun: Configuration = {
    ...configuration,
    members: withMember(configuration.members, member),
    replicaTimeoutSeconds: replicaTimeoutSeconds ?? configuration.replicaTimeoutSeconds,
  };
  const commit = await context.store.commit([setConfiguration(read, begun)]);
  if (!commit.done) throw new Overtaken("the cluster was changed by another: try again");
  return begun;
};

const mayJoin = async (primary: PrimaryToJoin, member: Member, replica: WholeStore): Promise<void> => {
  const { configuration, store } = primary;
  if (configuration.role !== "primary") throw new CannotJoin("the store to join is a replica: promote it first");
  if (configuration.members.some(({ storeId, role }) => role === "primary" && storeId === member.storeId)) {
    throw new CannotJoin("a store cannot be its own replica");
  }
  const others = configuration.members.filter(({ storeId, role }) => role === "replica" && storeId !== member.storeId);
  if (others.length >= REPLICAS) throw new CannotJoin(`a cluster has at most ${REPLICAS} replicas`);
  const counted = await readCounted({ store: replica, now: Date.now });
  const known = counted.store.configuration;
  if (known === null) {
    // Its feed may run before it joins: then it has some of the primary's queues.
    const isFed = counted.store.buried === null && counted.store.base === 0n;
    if (counted.isUnused || (isFed && !(await hasOwnQueues(replica, store)))) return;
    throw new CannotJoin("the store holds messages of its own: only an empty one can join");
  }
  if (known.clusterId !== configuration.clusterId) {
    throw new CannotJoin(`the store belongs to another cluster, ${known.clusterId}`);
  }
  if (compareSerials(known.configChange, configuration.configChange) > 0 || isSplit(known, configuration)) {
    throw new CannotJoin("the store went on by itself, at least as far as this one: identify which is the one to keep");
  }
};

interface PrimaryToJoin {
  readonly store: Store;
  readonly configuration: Configuration;
}

/** Both made the same change, each alone. */
const isSplit = (known: Configuration, configuration: Configuration): boolean =>
  known.configChange === configuration.configChange && known.configId !== configuration.configId;

const isIn = ({ role, state }: Member): boolean => role === "replica" && state === "in-sync";

/**
 * Makes it a member. Its counter is the primary's at that moment, and goes on with what it counts by itself. It gets that
 * with a pair that is one change behind, so that it loses to every member until it is one.
 */
const admit = async (
  context: StoreContext,
  open: OpenStore,
  clusterId: string,
  member: Member,
): Promise<Configuration> => {
  const configuration = await readConfiguration(context.store);
  const now = configuration?.members.find(({ storeId }) => storeId === member.storeId);
  if (configuration?.clusterId !== clusterId || now === undefined || now.state === "away") {
    throw new Unavailable("the store kept commands waiting for too long while it joined: try again");
  }
  const replica = open(member);
  const { changeCounter } = await readCounted(context);
  const { items } = await replica.query({ pk: changesPk });
  const base = counterDistance(BigInt.asUintN(64, changesApplied(items)), changeCounter);
  const known = await readConfiguration(replica);
  const behind = { configChange: addCounters(configuration.configChange, COUNTER_MAX), configId: randomUUID() };
  const until: Configuration = { ...configuration, ...(isIn(now) ? {} : behind), role: "replica" };
  const commit = await replica.commit([setCounter(setConfiguration(known, until), base)]);
  if (!commit.done) throw new Overtaken("the replica was told something else: try again");
  const members = withMember(configuration.members, { ...member, state: "in-sync" });
  return changeConfiguration(context, open, configuration, members);
};
