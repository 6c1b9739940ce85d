/**
 * What a branch's operations become when they are applied or undone: pure, from facts that were read before. One commit
 * carries these writes together with the branch's own.
 */
import type { Outcome } from "../../domain/branch.ts";
import type { Add, Operation, Remove } from "../../domain/operation.ts";
import { type PartitionRef, type Queue, queueName, wireSequence } from "../../domain/queue.ts";
import { messageIdOf, type Payload, type Run, type RunKey } from "../../domain/run.ts";
import { partitionName } from "../../records/keys.ts";
import { addFlow, type Flow, moveCapacity, noFlow } from "../../records/queue.ts";
import { putDeduplication } from "../../records/remembered.ts";
import { decideHold, putNewRun } from "../../records/run.ts";
import type { Write } from "../../records/write.ts";
import { newRun } from "../new-run.ts";

/** What the branch holds of one run, as far as is known. */
export interface Removal {
  readonly key: RunKey;
  readonly held: number;
  readonly bytes: number;
  /** Nothing else in the run is live: it goes. */
  readonly isWhole: boolean;
  /** The run, or the hold, is not there any more: settled by others, nothing to write. */
  readonly isGone: boolean;
  readonly payload: Extract<Payload, { kind: "chunks" }> | undefined;
}

/** Where the messages of an add go when their own queue is gone, as far as there is room. */
export interface Redirect {
  readonly queue: Queue;
  readonly run: Run;
}

export interface Facts {
  readonly outcome: Outcome;
  readonly incarnation: string;
  readonly decidedAtMs: number;
  readonly operations: readonly Operation[];
  /** By run, in the order met. */
  readonly removals: ReadonlyMap<string, Removal>;
  /** The next position of each partition that is added to; a partition that is gone has none. */
  readonly positions: Readonly<Record<string, number>>;
  /** Live queues by name and generation. */
  readonly queues: ReadonlyMap<string, Queue>;
  /** By operation id. */
  readonly redirects: ReadonlyMap<string, Redirect>;
  /** Copies whose deduplication id was taken meanwhile: `<operation>/<index>`. */
  readonly taken: ReadonlySet<string>;
  /** Depth of what is added was reserved before. */
  readonly isReserved: boolean;
}

export interface Effects {
  readonly writes: readonly Write[];
  /** The positions after these operations. */
  readonly positions: Readonly<Record<string, number>>;
  /** Payloads that nothing names once the writes are done. */
  readonly orphans: readonly Payload[];
  /** Messages that found no place, or were settled by others. */
  readonly dropped: number;
}

export const partitionOfAdd = (add: Add): PartitionRef => ({
  name: add.queue,
  generation: add.generation,
  partition: add.partition,
});

export const runName = (key: RunKey): string => `${partitionName(key)}#${key.position}`;

export const effectsOf = (given: Facts): Effects => {
  const adds = given.operations.filter((operation) => operation.kind === "add");
  const facts = { ...given, taken: new Set([...given.taken, ...repeatsIn(adds)]) };
  const placed = facts.outcome === "commit" ? placeAdds(facts, adds) : undoAdds(facts, adds);
  const removed = endHolds(facts);
  return {
    writes: [...placed.writes, ...removed.writes, ...capacityMoves(facts, adds)],
    positions: placed.positions,
    orphans: [...placed.orphans, ...removed.orphans],
    dropped: placed.dropped + removed.dropped,
  };
};

/** Copies whose deduplication id an earlier one of the same branch has taken. */
export const repeatsIn = (adds: readonly Add[]): readonly string[] => {
  const met = new Set<string>();
  return adds.flatMap((add) =>
    add.deduplications.flatMap(([index, id]) => {
      const name = `${add.queue}#${add.generation}#${id}`;
      if (met.has(name)) return [copyName(add, index)];
      met.add(name);
      return [];
    }),
  );
};

/** The removes of some operations, one a run, as the operations themselves tell. */
export const removalsOf = (operations: readonly Operation[]): ReadonlyMap<string, Removal> => {
  const removals = new Map<string, Removal>();
  for (const operation of operations) {
    if (operation.kind === "add") continue;
    const name = runName(operation.run);
    removals.set(name, merged(removals.get(name), operation));
  }
  return removals;
};

const merged = (before: Removal | undefined, remove: Remove): Removal => ({
  key: remove.run,
  held: (before?.held ?? 0) + remove.indexes.length,
  bytes: (before?.bytes ?? 0) + remove.bytes,
  // The latest accept saw the run last.
  isWhole: remove.isWhole,
  isGone: false,
  payload: remove.payload,
});

const placeAdds = (facts: Facts, adds: readonly Add[]): Effects => {
  const positions = { ...facts.positions };
  const writes: Write[] = [];
  const orphans: Payload[] = [];
  let dropped = 0;
  for (const add of adds) {
    const queue = facts.queues.get(queueName({ name: add.queue, generation: add.generation }));
    const at = partitionName(partitionOfAdd(add));
    const position = positions[at];
    if (queue === undefined || position === undefined) {
      const redirect = facts.redirects.get(add.id);
      dropped += add.sizes.length - (redirect?.run.slots.length ?? 0);
      if (redirect !== undefined) writes.push(putNewRun(redirect.run));
      orphans.push(add.payload);
      continue;
    }
    positions[at] = position + add.sizes.length;
    const taken = add.deduplications.filter(([index]) => facts.taken.has(copyName(add, index)));
    dropped += taken.length;
    if (taken.length === add.sizes.length) orphans.push(add.payload);
    else writes.push(putNewRun(runOf(facts, add, queue, position)));
    writes.push(...deduplicationsOf(facts, add, queue, position));
  }
  return { writes, positions, orphans, dropped };
};

export const copyName = (add: Add, index: number): string => `${add.id}/${index}`;

const runOf = (facts: Facts, add: Add, queue: Queue, position: number): Run => {
  const key = { ...partitionOfAdd(add), position };
  const run = newRun(queue, key, add, add.messageIdBase, add.payload, facts.decidedAtMs);
  const isTaken = (index: number) => facts.taken.has(copyName(add, index));
  return { ...run, slots: run.slots.map((slot, index) => (isTaken(index) ? { state: "settled" } : slot)) };
};

const deduplicationsOf = (facts: Facts, add: Add, queue: Queue, position: number): readonly Write[] =>
  add.deduplications
    .filter(([index]) => !facts.taken.has(copyName(add, index)))
    .map(([index, id, messageId]) => {
      const sequence = wireSequence(position + index, add.partition, queue.settings.partitions);
      const first = { messageId: messageId ?? messageIdOf(add.messageIdBase, index), sequence };
      return putDeduplication(queue, id, first, facts.decidedAtMs);
    });

const undoAdds = (facts: Facts, adds: readonly Add[]): Effects => ({
  writes: [],
  positions: facts.positions,
  orphans: adds.map((add) => add.payload),
  dropped: 0,
});

const endHolds = (facts: Facts): Pick<Effects, "writes" | "orphans" | "dropped"> => {
  const removals = [...facts.removals.values()];
  const there = removals.filter((removal) => !removal.isGone);
  const isCommit = facts.outcome === "commit";
  return {
    writes: there.map((removal) =>
      decideHold(removal.key, facts.incarnation, removal.held, isCommit ? "settle" : "release", removal.isWhole),
    ),
    orphans: isCommit ? there.flatMap((removal) => (removal.isWhole && removal.payload ? [removal.payload] : [])) : [],
    dropped: isCommit ? removals.length - there.length : 0,
  };
};

/** Commit takes depth for what it adds, unless that was reserved, and gives back what it removes; rollback gives back what was reserved. */
const capacityMoves = (facts: Facts, adds: readonly Add[]): readonly Write[] => {
  const flows = new Map<string, Flow>();
  const queues = new Map(facts.queues);
  const flow = (name: string, change: Partial<Flow>) => flows.set(name, addFlow(flows.get(name) ?? noFlow, change));
  const isCommit = facts.outcome === "commit";
  for (const add of adds) {
    const name = queueName({ name: add.queue, generation: add.generation });
    const stays = isCommit ? add.sizes.map((_, i) => !facts.taken.has(copyName(add, i))) : add.sizes.map(() => false);
    const entering = sumOf(add.sizes, stays, true);
    const leaving = sumOf(add.sizes, stays, false);
    if (!facts.isReserved && isCommit) flow(name, { inMessages: entering.messages, inBytes: entering.bytes });
    if (facts.isReserved) flow(name, { outMessages: leaving.messages, outBytes: leaving.bytes });
  }
  for (const { run, queue } of facts.redirects.values()) {
    queues.set(queueName(queue), queue);
    flow(queueName(queue), { inMessages: run.slots.length, inBytes: run.sizes.reduce((a, b) => a + b, 0) });
  }
  for (const removal of isCommit ? facts.removals.values() : []) {
    if (!removal.isGone) flow(queueName(removal.key), { outMessages: removal.held, outBytes: removal.bytes });
  }
  return [...flows].flatMap(([name, change]) => {
    const queue = queues.get(name);
    return queue === undefined ? [] : moveCapacity(queue, change);
  });
};

const sumOf = (sizes: readonly number[], stays: readonly boolean[], wanted: boolean) => {
  const chosen = sizes.filter((_, i) => stays[i] === wanted);
  return { messages: chosen.length, bytes: chosen.reduce((a, b) => a + b, 0) };
};
