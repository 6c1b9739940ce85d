import { randomUUID } from "node:crypto";
import { addCounters, counterDistance } from "../../domain/counter.ts";
import { fenceShard } from "../../records/fence.ts";
import { shards, storeKey } from "../../records/keys.ts";
import { journalKey, readJournal } from "../../records/replication.ts";
import { type Configuration, readStore, setConfiguration, setCounter } from "../../records/store.ts";
import type { WholeStore } from "../../store/port.ts";
import { countTails } from "../store/count-tails.ts";
import { readCounted, type StoreContext } from "../store/counted.ts";
import { ensureStoreId } from "../store/status.ts";
import { Overtaken } from "./change-configuration.ts";
import { pagesOf } from "./copy.ts";
import { type Commit, commitsAmong, happened } from "./journals.ts";
import type { Place } from "./members.ts";
import { Recount } from "./recount.ts";
import { redo } from "./redo.ts";

/** Why a store cannot be promoted; nothing was changed. */
export class CannotPromote extends Error {
  override readonly name = "CannotPromote";
}

export interface Promoted {
  readonly configuration: Configuration;
  /** Commits of several records that were finished here. */
  readonly finished: number;
  /** It was the primary already. */
  readonly wasPrimary: boolean;
}

/**
 * Makes a replica the primary of its cluster. Nothing is applied to it any more; every commit of which it has any part is
 * finished, every other one never happened here; counters that lie behind what they count are set right; then one write
 * opens it: the next `configChange`, in which the other members are away until they join again. To repeat it after it was
 * cut off goes on with it. One whose joining was cut off is refused, unless it is to be promoted `even.incomplete`.
 */
export const promote = async (
  context: StoreContext & { readonly store: WholeStore },
  place: Place,
  even: { readonly incomplete: boolean } = { incomplete: false },
): Promise<Promoted> => {
  const { store } = context;
  const { configuration, isJoining } = readStore(await store.read(storeKey));
  if (configuration === null) throw new CannotPromote("the store is in no cluster: it needs no promotion to be used");
  if (configuration.role === "primary") return { configuration, finished: 0, wasPrimary: true };
  if (isJoining && !even.incomplete) {
    throw new CannotPromote(
      "its joining was cut off, it holds records of two moments: choose another store if there is one",
    );
  }
  for (const shard of shards) await store.commit([fenceShard(shard)]);
  const finished = await finishCommits(store);
  await setCounters(store);
  return { configuration: await open(context, place, configuration), finished, wasPrimary: false };
};

const finishCommits = async (store: WholeStore): Promise<number> => {
  const commits: Commit[] = [];
  for await (const items of pagesOf(store)) commits.push(...commitsAmong(items));
  const done = happened(commits);
  for (const { commit } of done) {
    const item = await store.read(journalKey(commit));
    const journal = item && readJournal(item);
    if (journal !== undefined) await redo(store, journal);
  }
  return done.length;
};

const setCounters = async (store: WholeStore): Promise<void> => {
  const recount = new Recount();
  for await (const items of pagesOf(store)) recount.add(items);
  for (const write of recount.writes()) await store.commit([write]);
};

/** From here on the counter is that of the store's own queues, and goes on from where the replica's was. */
const open = async (context: StoreContext, place: Place, read: Configuration): Promise<Configuration> => {
  const storeId = await ensureStoreId(context);
  const { changeCounter } = await readCounted(context);
  const count = await countTails(context);
  const { changes } = count(readStore(await context.store.read(storeKey)));
  const configuration: Configuration = {
    ...read,
    configChange: addCounters(read.configChange, 1n),
    configId: randomUUID(),
    changeCounter,
    role: "primary",
    members: [
      { ...place, storeId, role: "primary", state: "in-sync" },
      ...read.members
        .filter((member) => member.storeId !== storeId)
        .map((member) => ({ ...member, role: "replica", state: "away" }) as const),
    ],
  };
  const base = counterDistance(BigInt.asUintN(64, changes), changeCounter);
  const commit = await context.store.commit([setCounter(setConfiguration(read, configuration), base)]);
  if (!commit.done)
    throw new Overtaken("the store was promoted, or told something else, by another: look at its status");
  return configuration;
};
