import { type Delivery, deliveryId } from "../../domain/delivery.ts";
import type { Queue } from "../../domain/queue.ts";
import { type Refusal, refuse } from "../../domain/refusal.ts";
import type { IsAlive, SettleOutcome } from "../../domain/run.ts";
import { fence, type Session, type SessionRef } from "../../domain/session.ts";
import type { Xid } from "../../domain/xid.ts";
import { partitionName, runKey } from "../../records/keys.ts";
import { readRun } from "../../records/run.ts";
import type { Item } from "../../records/write.ts";
import type { Context } from "../context.ts";
import { eachOf } from "../payload.ts";
import { livenessOf, loadSession } from "../sessions/liveness.ts";
import { type BesideRun, type Group, type Settling, settleRun } from "./settle-run.ts";

/** The call that names deliveries, and the headers it came with. */
export interface SettleCall {
  readonly deliveries: readonly Delivery[];
  readonly session: SessionRef | undefined;
  readonly xid: Xid | undefined;
  /** What stands beside the change of a run, in its commit, with what becomes of the deliveries that were named of it. */
  readonly beside?: BesideRun;
}

/**
 * Settles deliveries outside a branch, each decided on its own; the outcomes come in the order given, and a delivery named
 * twice has the same one twice. Whoever has a delivery's id may settle it: its lease counts, not the caller's session.
 */
export const settleDeliveries = async (
  context: Context,
  { deliveries, session, xid, beside }: SettleCall,
  settling: Settling,
): Promise<readonly SettleOutcome[] | Refusal> => {
  const byRun = Map.groupBy(unique(deliveries), ({ run }) => `${partitionName(run)}#${run.position}`);
  const ofRuns = [...byRun.values()];
  const [own, queues, items] = await Promise.all([
    session && loadSession(context, session.name),
    loadQueues(context, deliveries),
    context.store.readAll(ofRuns.flatMap(([first]) => (first === undefined ? [] : [runKey(first.run)]))),
  ]);
  const refusal = (session && fence(own, session, context.now())) ?? insideBranch(xid);
  if (refusal !== undefined) return refusal;
  const outcomes = new Map<string, SettleOutcome>();
  const groups = ofRuns.flatMap((of, i): readonly Group[] => {
    const queue = queues.get(queueId(of[0]));
    return queue === undefined ? [] : [{ queue, deliveries: of, item: items[i] }];
  });
  const isAlive = await livenessFor(context, groups, own);
  await eachOf(lanesOf(groups), async (lane) => {
    for (const group of lane) {
      const decided = await settleRun(context, group, isAlive, settling, beside);
      for (const [i, delivery] of group.deliveries.entries()) {
        outcomes.set(deliveryId(delivery), decided[i] ?? "not-found");
      }
    }
  });
  return deliveries.map((delivery) => outcomes.get(deliveryId(delivery)) ?? "not-found");
};

const unique = (deliveries: readonly Delivery[]): readonly Delivery[] => [
  ...new Map(deliveries.map((delivery) => [deliveryId(delivery), delivery])).values(),
];

const insideBranch = (xid: Xid | undefined): Refusal | undefined =>
  xid === undefined ? undefined : refuse("command-invalid", "inside a branch deliveries can only be accepted");

const queueId = (delivery: Delivery | undefined): string =>
  delivery === undefined ? "" : `${delivery.run.name}#${delivery.run.generation}`;

/** The queues of these deliveries as they were when delivered: a name that was deleted since is not among them. */
const loadQueues = async (context: Context, deliveries: readonly Delivery[]): Promise<ReadonlyMap<string, Queue>> => {
  const queues = new Map<string, Queue>();
  const wanted = [...new Map(deliveries.map((delivery) => [queueId(delivery), delivery.run])).values()];
  await eachOf(wanted, async (run) => {
    const queue = await context.settings.findLife(context.store, run, context.now());
    if (queue !== undefined) queues.set(`${run.name}#${run.generation}`, queue);
  });
  return queues;
};

/** Whether the sessions of the named leases live: the caller's own has been read already. */
const livenessFor = async (context: Context, groups: readonly Group[], own: Session | undefined): Promise<IsAlive> => {
  const refs = groups.flatMap(({ item, deliveries }) => (item === undefined ? [] : lessees(item, deliveries)));
  return livenessOf(context, refs, own);
};

const lessees = (item: Item, deliveries: readonly Delivery[]): readonly SessionRef[] => {
  const [first] = deliveries;
  if (first === undefined) return [];
  const { slots } = readRun(item, first.run);
  return deliveries.flatMap(({ index, token }) => {
    const slot = slots[index];
    if (slot?.state !== "leased" || slot.lease.token !== token || slot.lease.session === undefined) return [];
    return [slot.lease.session];
  });
};

/** What is done one after the other: runs whose dead letters must come to their queue in order. Lanes go side by side. */
const lanesOf = (groups: readonly Group[]): readonly (readonly Group[])[] => [
  ...Map.groupBy(
    groups.toSorted((a, b) => positionOf(a) - positionOf(b)),
    (group) => (group.queue.settings.deadLetterQueue === null ? group : group.queue.name),
  ).values(),
];

const positionOf = ({ deliveries: [first] }: Group): number => first?.run.position ?? 0;
