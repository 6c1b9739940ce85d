import { randomBytes } from "node:crypto";
import type { Branch } from "../../domain/branch.ts";
import type { Delivery } from "../../domain/delivery.ts";
import { RECORDS_PER_COMMIT } from "../../domain/limits.ts";
import type { Remove } from "../../domain/operation.ts";
import type { Queue } from "../../domain/queue.ts";
import { isRefusal, type Refusal, refuse } from "../../domain/refusal.ts";
import {
  heldBy,
  hold,
  type IsAlive,
  judge,
  liveCount,
  type Run,
  type SettleOutcome,
  sizeOf,
} from "../../domain/run.ts";
import type { SessionRef } from "../../domain/session.ts";
import type { Xid } from "../../domain/xid.ts";
import { runKey } from "../../records/keys.ts";
import { readRun, writeRun } from "../../records/run.ts";
import type { Write } from "../../records/write.ts";
import type { Consistency } from "../../store/port.ts";
import type { Context } from "../context.ts";
import { bodiesToDelete } from "../leave.ts";
import { leaseSessions } from "../sessions/lease-liveness.ts";
import { livenessOf } from "../sessions/liveness.ts";
import { runName } from "./effects.ts";
import { type Work, workIn } from "./work.ts";

/** Runs that one commit of an accept changes: the branch is beside them. */
const RUNS_PER_COMMIT = RECORDS_PER_COMMIT - 5;

/**
 * Enlists the removal of deliveries in a branch: each moves from leased to held in the commit that lists it there. One
 * outcome for each delivery, in the order given; what the branch holds already is `ok` again.
 */
export const acceptInBranch = async (
  context: Context,
  deliveries: readonly Delivery[],
  xid: Xid,
  by: SessionRef | undefined,
): Promise<readonly SettleOutcome[] | Refusal> => {
  if (by === undefined)
    return refuse("illegal-state", `work in branch ${xid} needs a session that is associated with it`);
  const byRun = Map.groupBy(deliveries, (delivery) => runName(delivery.run));
  const names = [...byRun.keys()];
  const outcomes = new Map<Delivery, SettleOutcome>();
  for (let at = 0; at < names.length; at += RUNS_PER_COMMIT) {
    const groups = names.slice(at, at + RUNS_PER_COMMIT).map((name) => byRun.get(name) ?? []);
    const enlisted = await workIn(context, xid, by, (branch, consistency) =>
      enlist(context, branch, by, groups, consistency),
    );
    if (isRefusal(enlisted)) return enlisted;
    for (const [delivery, outcome] of enlisted) outcomes.set(delivery, outcome);
  }
  return deliveries.map((delivery) => outcomes.get(delivery) ?? "not-found");
};

type Outcomes = ReadonlyMap<Delivery, SettleOutcome>;

const enlist = async (
  context: Context,
  branch: Branch,
  by: SessionRef,
  groups: readonly (readonly Delivery[])[],
  consistency: Consistency,
): Promise<Work<Outcomes> | Refusal> => {
  const runs = await loadRuns(context, groups, consistency);
  const queues = await loadQueuesOf(context, groups);
  const isAlive = await livenessBeside(context, by, [...runs.values()]);
  const outcomes = new Map<Delivery, SettleOutcome>();
  const operations: Remove[] = [];
  const beside: Write[] = [];
  for (const group of groups) {
    const name = nameOf(group);
    const queue = queues.get(name);
    const run = queue === undefined ? undefined : runs.get(name);
    const indexes = judgeGroup(context, branch, group, run, isAlive, outcomes);
    if (run === undefined || indexes.length === 0) continue;
    const held = hold(run, indexes, branch.incarnation, {
      xid: branch.xid,
      deadlineMs: branch.deadlineMs,
      session: by,
    });
    beside.push(writeRun(run, held));
    operations.push(removeOf(branch, queue, held, indexes));
  }
  const isCertain = consistency === "strong" || [...outcomes.values()].every((outcome) => outcome === "ok");
  // A late read proves nothing of a lease that is lost: look again.
  if (!isCertain) return enlist(context, branch, by, groups, "strong");
  return { operations, beside, result: outcomes };
};

/** Liveness of the leases' sessions; the caller's own has just passed the fence. */
const livenessBeside = async (context: Context, by: SessionRef, runs: readonly Run[]): Promise<IsAlive> => {
  const isOwn: IsAlive = (ref) => ref.name === by.name && ref.epoch === by.epoch;
  const others = leaseSessions(runs, context.now()).filter((ref) => !isOwn(ref));
  const isAlive = await livenessOf(context, others);
  return (ref) => isOwn(ref) || isAlive(ref);
};

/** Judges a run's deliveries; the indexes that are newly to be held, ascending. */
const judgeGroup = (
  context: Context,
  branch: Branch,
  group: readonly Delivery[],
  run: Run | undefined,
  isAlive: IsAlive,
  outcomes: Map<Delivery, SettleOutcome>,
): readonly number[] => {
  const nowMs = context.now();
  const indexes = new Set<number>();
  for (const delivery of group) {
    const slot = run?.slots[delivery.index];
    const outcome = judge(slot, delivery.token, branch.incarnation, nowMs, isAlive);
    outcomes.set(delivery, outcome);
    if (outcome === "ok" && slot?.state === "leased") indexes.add(delivery.index);
  }
  return [...indexes].toSorted((a, b) => a - b);
};

const removeOf = (branch: Branch, queue: Queue | undefined, held: Run, indexes: readonly number[]): Remove => {
  const payload = bodiesToDelete(queue, held);
  return {
    kind: "remove",
    id: randomBytes(6).toString("base64url"),
    run: held.key,
    indexes,
    bytes: sizeOf(held, indexes),
    isWhole: heldBy(held, branch.incarnation).length === liveCount(held),
    ...(payload !== undefined && { payload }),
  };
};

const nameOf = (group: readonly Delivery[]): string => {
  const [first] = group;
  if (first === undefined) throw new Error("a group of deliveries is empty");
  return runName(first.run);
};

const loadRuns = async (
  context: Context,
  groups: readonly (readonly Delivery[])[],
  consistency: Consistency,
): Promise<ReadonlyMap<string, Run>> => {
  const keys = groups.flatMap(([first]) => (first === undefined ? [] : [first.run]));
  const items = await context.store.readAll(keys.map(runKey), consistency);
  return new Map(keys.flatMap((key, i) => (items[i] === undefined ? [] : [[runName(key), readRun(items[i], key)]])));
};

/** The queue of each group, when it still is the one that was delivered from; a deleted queue's sweep owns its messages. */
const loadQueuesOf = async (
  context: Context,
  groups: readonly (readonly Delivery[])[],
): Promise<ReadonlyMap<string, Queue>> => {
  const found = await Promise.all(
    groups.map(async (group): Promise<readonly [string, Queue][]> => {
      const run = group[0]?.run;
      const queue = run && (await context.settings.findLife(context.store, run, context.now()));
      return queue === undefined ? [] : [[nameOf(group), queue]];
    }),
  );
  return new Map(found.flat());
};
