/** Store statuses for tests, and arbitrary ones. */
import fc from "fast-check";
import { COUNTER_MAX } from "../../shared/domain/counter.ts";
import type { Candidate, StoreStatus } from "../../shared/domain/store-status.ts";

/** A store with something in it that was never in a cluster, with these differences. */
export const status = (differences: Partial<StoreStatus> = {}): StoreStatus => ({
  storeId: "s",
  clusterId: null,
  changeCounter: 0n,
  configChange: null,
  configId: null,
  changeCounterAtConfigChange: null,
  role: "primary",
  state: "dirty",
  shutdownId: null,
  changeCounterAtShutdown: null,
  members: [],
  readAt: "2026-11-30T09:30:00.000Z",
  ...differences,
});

/** A store of the cluster `c`: what the worked cases call C, P and now. */
export const member = (C: bigint, P: bigint, now: bigint, differences: Partial<StoreStatus> = {}): StoreStatus =>
  status({
    clusterId: "c",
    configChange: C,
    configId: `id ${C}`,
    changeCounterAtConfigChange: P,
    changeCounter: now,
    ...differences,
  });

/** What an orderly shutdown adds. */
export const shutDown = (shutdownId: string, before: StoreStatus): StoreStatus => ({
  ...before,
  state: "clean",
  shutdownId,
  changeCounterAtShutdown: before.changeCounter,
});

export const candidates = (statuses: Readonly<Record<string, StoreStatus>>): readonly Candidate[] =>
  Object.entries(statuses).map(([name, of]) => ({ name, status: { ...of, storeId: name } }));

const counters = fc.oneof(
  fc.bigInt({ min: 0n, max: COUNTER_MAX }),
  fc.bigInt({ min: 0n, max: 3n }),
  fc.constant(COUNTER_MAX),
);
const close = fc.bigInt({ min: 0n, max: 3n });
const shutdowns = fc.option(fc.constantFrom("S", "T"), { freq: 1 });

/** Few different values, so that ties, splits and shutdowns in common occur. */
const statuses: fc.Arbitrary<StoreStatus> = fc
  .record({
    kind: fc.constantFrom("empty", "alone", "member", "member", "member"),
    cluster: fc.constantFrom("c", "c", "c", "d"),
    C: fc.oneof(close, fc.constant(COUNTER_MAX)),
    id: fc.constantFrom("x", "x", "x", "y"),
    P: counters,
    since: close,
    shutdown: shutdowns,
  })
  .map(({ kind, cluster, C, id, P, since, shutdown }) => {
    const changeCounter = BigInt.asUintN(64, P + since);
    if (kind === "empty") return status({ state: "empty" });
    const of =
      kind === "alone" ? status({ changeCounter }) : member(C, P, changeCounter, { clusterId: cluster, configId: id });
    return shutdown === null ? of : shutDown(shutdown, of);
  });

export const manyCandidates: fc.Arbitrary<readonly Candidate[]> = fc
  .array(statuses, { minLength: 1, maxLength: 6 })
  .map((list) => list.map((of, i) => ({ name: `store ${i}`, status: { ...of, storeId: `store ${i}` } })));
