import type { Branch, Outcome } from "../../domain/branch.ts";
import { RECORDS_PER_COMMIT } from "../../domain/limits.ts";
import type { Add, Operation } from "../../domain/operation.ts";
import { type Queue, queueName } from "../../domain/queue.ts";
import { heldBy, liveCount, sizeOf } from "../../domain/run.ts";
import { deleteBlock } from "../../records/branch.ts";
import { capacityKey, deduplicationKey, runKey } from "../../records/keys.ts";
import { readRun } from "../../records/run.ts";
import type { Item, Key, Write } from "../../records/write.ts";
import type { Failure } from "../../store/port.ts";
import { Unavailable } from "../../store/port.ts";
import type { Context } from "../context.ts";
import { bodiesToDelete } from "../leave.ts";
import { deleteChunksOf } from "../payload.ts";
import { copyName, effectsOf, type Facts, type Removal, removalsOf } from "./effects.ts";
import { addsOf, countRemovals, loadQueues, redirectAdds, takePositions } from "./gather.ts";
import { hasRoomForBranch } from "./room.ts";

/** How often a commit is built anew because what it met was not as expected. */
const ROUNDS = 20;
/** Records kept back of a commit for the branch, its outcome, and one that was not foreseen. */
const ENDINGS = 4;

export interface AtOnce {
  readonly outcome: Outcome;
  readonly isReserved: boolean;
  readonly nowMs: number;
  /** The branch's own writes, which stand in the same commit; `dropped` messages found no place. */
  readonly endings: (dropped: number) => readonly Write[];
}

/** `moved`: the branch is not as it was read. `full`: a queue without room; nothing was applied. */
export type Applied = "done" | "moved" | "full";

/** Whether these operations can be applied or undone in one commit. */
export const fitsOneCommit = (operations: readonly Operation[], blocks: readonly number[]): boolean =>
  recordsOf(operations) + blocks.length + ENDINGS <= RECORDS_PER_COMMIT;

/** Records that these operations touch, at most. */
export const recordsOf = (operations: readonly Operation[]): number => {
  const queues = new Set<string>();
  let records = removalsOf(operations).size;
  for (const operation of operations) {
    if (operation.kind === "add") records += 1 + operation.deduplications.length;
    queues.add(operation.kind === "add" ? operation.queue : operation.run.name);
  }
  return records + queues.size;
};

/**
 * Applies or undoes a branch's operations together with its own writes, all or nothing. What is counted, is counted
 * before. A condition that fails tells what is really there, and the commit is built anew from it.
 */
export const commitAtOnce = async (
  context: Context,
  branch: Branch,
  operations: readonly Operation[],
  how: AtOnce,
): Promise<Applied> => {
  const found = await factsFor(context, branch, operations, how);
  if (found === "full") return "full";
  let facts = found;
  const endingKeys = new Set(how.endings(0).map((write) => nameOf(write.key)));
  for (let round = 0; round < ROUNDS; round++) {
    const effects = effectsOf(facts);
    const commit = await context.store.commit([
      ...how.endings(effects.dropped),
      ...branch.blocks.map((block) => deleteBlock(branch, block)),
      ...effects.writes,
    ]);
    if (commit.done) {
      await deleteChunksOf(context, effects.orphans);
      return "done";
    }
    if (commit.failures.some(({ write }) => endingKeys.has(nameOf(write.key)))) {
      await deleteRedirected(context, facts);
      return "moved";
    }
    // A dead-letter queue that is full loses what would go there: that is no reason to apply nothing.
    const refused = redirectsTo(facts, commit.failures);
    const next = corrected(facts, commit.failures);
    // Nor are messages that turn out to be duplicates: they need no room.
    const areFewer = refused.size > 0 || next.taken.size > facts.taken.size;
    if (!areFewer && commit.failures.some(({ write }) => isCapacityOf(write, facts))) {
      await deleteRedirected(context, facts);
      return "full";
    }
    await deleteRedirected(context, { redirects: refused });
    facts = next;
  }
  throw new Unavailable(`branch ${branch.xid} meets others at every attempt`);
};

const factsFor = async (
  context: Context,
  branch: Branch,
  operations: readonly Operation[],
  how: AtOnce,
): Promise<Facts | "full"> => {
  const removals = removalsOf(operations);
  const isCommit = how.outcome === "commit";
  const adds = isCommit ? addsOf(operations) : [];
  const mustReserve = isCommit && !how.isReserved;
  const loading = loadQueues(context, operations);
  if (mustReserve && !(await hasRoomForBranch(context, operations, await loading))) return "full";
  const [queues, positions] = await Promise.all([
    loading,
    takePositions(context, adds),
    isCommit ? countRemovals(context, removals.values()) : undefined,
  ]);
  const redirects = await redirectAdds(context, adds, positions, queues, how.nowMs);
  return {
    outcome: how.outcome,
    incarnation: branch.incarnation,
    decidedAtMs: how.nowMs,
    operations,
    removals,
    positions,
    queues,
    redirects,
    taken: new Set(),
    isReserved: how.isReserved,
  };
};

/** The facts as the failed writes found them: other holds, deduplication ids that are taken, a dead-letter queue that is full. */
export const corrected = (facts: Facts, failures: readonly Failure[]): Facts => {
  const removals = new Map(facts.removals);
  const taken = new Set(facts.taken);
  for (const { write, found } of failures) {
    for (const [name, removal] of removals) {
      if (isKey(write, runKey(removal.key))) removals.set(name, seen(facts, removal, found));
    }
    for (const copy of copiesOf(facts, write)) taken.add(copy);
  }
  const full = redirectsTo(facts, failures);
  const redirects = new Map([...facts.redirects].filter(([id]) => !full.has(id)));
  return { ...facts, removals, taken, redirects };
};

/** The redirects to queues that had no room. */
const redirectsTo = (facts: Facts, failures: readonly Failure[]): Facts["redirects"] =>
  new Map([...facts.redirects].filter(([, { queue }]) => failures.some((f) => isKey(f.write, capacityKey(queue)))));

/** What the branch holds of a run, from the run itself. */
export const seen = (facts: Facts, removal: Removal, item: Item | undefined): Removal => {
  const run = item && readRun(item, removal.key);
  const held = run === undefined ? [] : heldBy(run, facts.incarnation);
  if (run === undefined || held.length === 0) return { ...removal, isGone: true };
  const queue = facts.queues.get(queueName(removal.key));
  const payload = bodiesToDelete(queue, run);
  const isWhole = liveCount(run) === held.length;
  return { key: removal.key, held: held.length, bytes: sizeOf(run, held), isWhole, isGone: false, payload };
};

const copiesOf = (facts: Facts, write: Write): readonly string[] =>
  addsOf(facts.operations).flatMap((add: Add) =>
    add.deduplications.flatMap(([index, id]) =>
      isKey(write, deduplicationKey({ name: add.queue, generation: add.generation }, id)) ? [copyName(add, index)] : [],
    ),
  );

/** A limited queue of the branch's own adds: a dead-letter queue that is full only loses what would go there. */
const isCapacityOf = (write: Write, facts: Facts): boolean => {
  const adds = addsOf(facts.operations);
  const own = [...facts.queues.values()].filter((queue: Queue) => adds.some((add) => isQueueOf(add, queue)));
  return own.some((queue) => isKey(write, capacityKey(queue)));
};

const isQueueOf = (add: Add, queue: Queue): boolean => add.queue === queue.name && add.generation === queue.generation;

/** Redirected bodies were copied before the commit that did not happen. */
const deleteRedirected = (context: Context, { redirects }: Pick<Facts, "redirects">): Promise<void> =>
  deleteChunksOf(
    context,
    [...redirects.values()].map(({ run }) => run.payload),
  );

const isKey = (write: Write, key: Key): boolean => write.key.pk === key.pk && write.key.sk === key.sk;

const nameOf = (key: Key): string => `${key.pk}\n${key.sk}`;
