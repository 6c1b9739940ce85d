/** What a store says of itself, and which of several stores is the most up to date. */
import { counterDistance, latestOf } from "./counter.ts";

export type StoreRole = "primary" | "replica";

/** `empty`: no queue was ever declared, and it was never in a cluster. `clean`: nothing changed since its orderly shutdown. */
export type StoreState = "empty" | "dirty" | "clean";

/** Another store of the cluster, or the store itself, as the cluster's records name it. */
export interface Member {
  readonly storeId: string;
  readonly table: string;
  /** Where its table is, when it is not where the AWS settings say. */
  readonly endpoint?: string;
  readonly region?: string;
  readonly role: StoreRole;
  readonly state: "in-sync" | "joining" | "away";
  /** The last `configChange` that was stored at this member. */
  readonly told?: bigint;
}

/** Counters are unsigned 64-bit integers; null is what does not apply. */
export interface StoreStatus {
  readonly storeId: string | null;
  readonly clusterId: string | null;
  readonly changeCounter: bigint;
  readonly configChange: bigint | null;
  readonly configId: string | null;
  readonly changeCounterAtConfigChange: bigint | null;
  /** A store in no cluster is its own primary. */
  readonly role: StoreRole;
  readonly state: StoreState;
  readonly shutdownId: string | null;
  readonly changeCounterAtShutdown: bigint | null;
  readonly members: readonly Member[];
  /** ISO 8601. */
  readonly readAt: string;
}

/** Enqueues and dequeues since the last change of the cluster, modulo 2^64; null for a store that was never in one. */
export const changesSince = (status: StoreStatus): bigint | null =>
  status.changeCounterAtConfigChange === null
    ? null
    : counterDistance(status.changeCounterAtConfigChange, status.changeCounter);

/** Clean counts only while the counter still is that of the shutdown; after that the store is dirty, whatever it says. */
export const standingState = (status: StoreStatus): StoreState =>
  status.state === "clean" && !isClean(status) ? "dirty" : status.state;

/** A store to choose from; `name` is its id, or where it was read when it has none. */
export interface Candidate {
  readonly name: string;
  readonly status: StoreStatus;
}

export type Verdict =
  | "best"
  | "equal"
  | "older configuration"
  | "fewer changes"
  | "never in a cluster"
  | "empty"
  | "not comparable";

/**
 * Why stores cannot be compared. `clusters`: they belong to different ones. `split`: the same change of the cluster was made
 * twice, so both sides went on alone. `circle`: their configuration changes lie more than half of all numbers apart, so none
 * comes after all others. `no-cluster`: none was ever in one, so they have nothing in common.
 */
export type Incomparable = "clusters" | "split" | "circle" | "no-cluster";

/** `verdicts` are in the order of the candidates; names are sorted. */
export type Identified =
  | { readonly outcome: "best"; readonly best: string; readonly verdicts: readonly Verdict[] }
  | {
      readonly outcome: "equal";
      readonly best: string;
      readonly equal: readonly string[];
      readonly verdicts: readonly Verdict[];
    }
  | {
      readonly outcome: "not-comparable";
      readonly because: Incomparable;
      /** Those that belong together; what loses in any case stands in none. */
      readonly groups: readonly (readonly string[])[];
      readonly verdicts: readonly Verdict[];
    };

/**
 * The most up to date of stores, whatever order they come in. First, a store that was never in a cluster loses to every one
 * that was. Of the rest: (1) different clusters, or a change of the cluster that was made twice, are refused; (2) the latest
 * `configChange` wins, (3) then the most changes since it, (4) then they are equal.
 * Stores with the same orderly shutdown are equal by definition, and stand where the best of them stands.
 * When none was ever in a cluster, an empty one loses to one that is not; several that are not empty are refused, unless
 * the same shutdown made them clean, or they are one store that was read twice; empty ones are equal.
 */
export const identify = (candidates: readonly Candidate[]): Identified => {
  if (candidates.length === 0) throw new Error("there is no store to choose from");
  const clustered = candidates.filter(({ status }) => wasInCluster(status));
  if (clustered.length > 0) return choose(candidates, clustered);
  const filled = candidates.filter(({ status }) => status.state !== "empty");
  if (filled.length === 0) return answer(candidates, candidates);
  const groups = connected(filled, (a, b) => areTogether([a, b]) || isSame(a.status, b.status));
  return groups.length > 1 ? refuse(candidates, groups, "no-cluster") : answer(candidates, filled);
};

const choose = (all: readonly Candidate[], clustered: readonly Candidate[]): Identified => {
  const byCluster = () => groupsBy(clustered, ({ clusterId }) => String(clusterId));
  const bySide = () => groupsBy(clustered, ({ configChange, configId }) => `${configChange} ${configId}`);
  if (someTwo(clustered, (a, b) => a.clusterId !== b.clusterId)) return refuse(all, byCluster(), "clusters");
  const isSplit = (a: StoreStatus, b: StoreStatus) => a.configChange === b.configChange && a.configId !== b.configId;
  if (someTwo(clustered, isSplit)) return refuse(all, bySide(), "split");
  const latest = latestOf(clustered.map(({ status }) => status.configChange ?? 0n));
  if (latest === undefined) return refuse(all, bySide(), "circle");
  const newest = clustered.filter(({ status }) => status.configChange === latest);
  const since = newest.map(({ status }) => changesSince(status) ?? 0n);
  const first = newest.filter((_, i) => since.every((other) => (since[i] ?? 0n) >= other));
  return answer(
    all,
    clustered.filter((candidate) => first.some((one) => one === candidate || areTogether([one, candidate]))),
    latest,
  );
};

/** The cluster, its last change and the counter then are there together, or none of them. */
const wasInCluster = (status: StoreStatus): boolean => status.configChange !== null;

const isClean = (status: StoreStatus): boolean =>
  status.state === "clean" && status.shutdownId !== null && status.changeCounter === status.changeCounterAtShutdown;

/** The shutdown that made this store clean, if it still is. */
const shutdownOf = (status: StoreStatus): string | undefined =>
  isClean(status) ? (status.shutdownId ?? undefined) : undefined;

/** Whether the same shutdown made all of them clean; one alone is together with itself. */
const areTogether = ([first, ...others]: readonly Candidate[]): boolean =>
  others.every(({ status }) => {
    const shutdown = shutdownOf(status);
    return shutdown !== undefined && first !== undefined && shutdown === shutdownOf(first.status);
  });

/** The same store at the same moment, read twice. A counter that differs may be a later moment, or another past. */
const isSame = (a: StoreStatus, b: StoreStatus): boolean =>
  a.storeId !== null && a.storeId === b.storeId && a.changeCounter === b.changeCounter;

/** Whether any two that no shutdown makes equal stand in this relation, which reads the same in both directions. */
const someTwo = (candidates: readonly Candidate[], relation: (a: StoreStatus, b: StoreStatus) => boolean): boolean =>
  candidates.some((a, i) => candidates.slice(i + 1).some((b) => !areTogether([a, b]) && relation(a.status, b.status)));

const answer = (all: readonly Candidate[], winners: readonly Candidate[], latest?: bigint): Identified => {
  const names = [...new Set(winners.map(({ name }) => name))].toSorted();
  const [best = ""] = names;
  const verdicts = all.map((candidate): Verdict => {
    if (winners.includes(candidate)) return candidate.name === best ? "best" : "equal";
    const { status } = candidate;
    if (!wasInCluster(status)) return status.state === "empty" ? "empty" : "never in a cluster";
    return status.configChange === latest ? "fewer changes" : "older configuration";
  });
  return names.length === 1 ? { outcome: "best", best, verdicts } : { outcome: "equal", best, equal: names, verdicts };
};

const refuse = (
  all: readonly Candidate[],
  groups: readonly (readonly Candidate[])[],
  because: Incomparable,
): Identified => {
  const verdicts = all.map((candidate): Verdict => {
    if (groups.some((group) => group.includes(candidate))) return "not comparable";
    return candidate.status.state === "empty" ? "empty" : "never in a cluster";
  });
  const names = groups.map((group) => group.map(({ name }) => name).toSorted());
  return {
    outcome: "not-comparable",
    because,
    groups: names.toSorted((a, b) => (a.join("\n") < b.join("\n") ? -1 : 1)),
    verdicts,
  };
};

const groupsBy = (candidates: readonly Candidate[], key: (status: StoreStatus) => string) =>
  Object.values(Object.groupBy(candidates, ({ status }) => key(status))).map((group = []) => group);

/** Groups of which each one is related to another of its own, and to none of the others. */
const connected = (
  candidates: readonly Candidate[],
  areRelated: (a: Candidate, b: Candidate) => boolean,
): readonly (readonly Candidate[])[] =>
  candidates.reduce<readonly (readonly Candidate[])[]>((groups, one) => {
    const mine = groups.filter((group) => group.some((other) => areRelated(one, other)));
    return [...groups.filter((group) => !mine.includes(group)), [one, ...mine.flat()]];
  }, []);
