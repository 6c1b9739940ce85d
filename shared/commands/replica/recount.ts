import type { Operation } from "../../domain/operation.ts";
import { isLimited, type Queue, queueName } from "../../domain/queue.ts";
import type { Run } from "../../domain/run.ts";
import { readBlock, readBranch } from "../../records/branch.ts";
import { runKeyAt } from "../../records/changes.ts";
import { branchPrefix, capacityKey, partitionName } from "../../records/keys.ts";
import { readDeletedQueue, readQueue } from "../../records/queue.ts";
import { stonePrefix } from "../../records/replication.ts";
import { readRun } from "../../records/run.ts";
import type { Item, Write } from "../../records/write.ts";
import { inflowOf } from "../dtx/room.ts";

/** Messages that a run may hold: where one was deleted, so many positions are taken at most. */
const POSITIONS_PER_RUN = 100;

/**
 * What a store's counters must be, from the records that they count: they are changed in commits of their own, or in none,
 * so on a replica they may lie behind. Filled page by page with all records of the store.
 */
export class Recount {
  /** By partition: the first position that no run has ever had. */
  readonly #next = new Map<string, number>();
  readonly #tails = new Map<string, Item>();
  readonly #capacities = new Map<string, Item>();
  readonly #queues = new Map<string, Queue>();
  /** By queue: what its runs hold. */
  readonly #held = new Map<string, { messages: number; bytes: number }>();
  readonly #operations: Operation[] = [];
  readonly #blocks = new Map<string, readonly Operation[]>();
  readonly #reserved: (readonly string[])[] = [];

  add(items: readonly Item[]): void {
    for (const item of items) this.#addOne(item, String(item.pk), String(item.sk));
  }

  /** The writes that raise tails and set right what limited queues have left, each of one record. */
  writes(): readonly Write[] {
    return [...this.#tailWrites(), ...this.#capacityWrites()];
  }

  #addOne(item: Item, pk: string, sk: string): void {
    const run = runKeyAt({ pk, sk });
    if (run !== undefined) this.#addRun(readRun(item, run));
    else if (pk.startsWith(stonePrefix)) {
      const gone = runKeyAt({ pk: pk.slice(stonePrefix.length), sk });
      if (gone !== undefined) this.#raise(partitionName(gone), gone.position + POSITIONS_PER_RUN);
    } else if (pk.startsWith("TAIL#")) this.#tails.set(sk, item);
    else if (sk.startsWith("CAPACITY#")) this.#capacities.set(`${pk}\n${sk}`, item);
    else if (pk === "DELETED") this.#addQueue(readDeletedQueue(item));
    else if (pk.startsWith("QUEUE#") && sk === "SETTINGS") this.#addQueue(readQueue(pk.slice("QUEUE#".length), item));
    else if (pk.startsWith("TPL#")) this.#addBranch(item, sk);
  }

  #addRun(run: Run): void {
    this.#raise(partitionName(run.key), run.key.position + run.slots.length);
    const name = queueName(run.key);
    const held = this.#held.get(name) ?? { messages: 0, bytes: 0 };
    for (const [i, { state }] of run.slots.entries()) {
      if (state === "settled") continue;
      held.messages += 1;
      held.bytes += run.sizes[i] ?? 0;
    }
    this.#held.set(name, held);
  }

  #addQueue(queue: Queue): void {
    this.#queues.set(queueName(queue), queue);
  }

  #addBranch(item: Item, sk: string): void {
    if (!sk.startsWith(branchPrefix)) {
      this.#blocks.set(sk, readBlock(item));
      return;
    }
    const { xid, incarnation, state, blocks, operations, messages } = readBranch(item);
    const decision = state.name === "deciding" ? state.decision : undefined;
    for (const [partition, position] of Object.entries(decision?.positions ?? {})) {
      this.#raise(partition, position + messages);
    }
    if (state.name !== "prepared" && decision?.isReserved !== true) return;
    this.#operations.push(...operations);
    this.#reserved.push(blocks.map((block) => `OPS#${xid}#${incarnation}#${block}`));
  }

  #raise(partition: string, next: number): void {
    this.#next.set(partition, Math.max(this.#next.get(partition) ?? 0, next));
  }

  #tailWrites(): readonly Write[] {
    return [...this.#tails].flatMap(([partition, { pk, sk, next }]): readonly Write[] => {
      const reached = this.#next.get(partition) ?? 0;
      if (typeof next === "number" && next >= reached) return [];
      const key = { pk: String(pk), sk: String(sk) };
      return [{ kind: "update", key, change: { set: [[["next"], reached]] }, require: [], otherwise: "reload" }];
    });
  }

  #capacityWrites(): readonly Write[] {
    const operations = [...this.#operations, ...this.#reserved.flat().flatMap((name) => this.#blocks.get(name) ?? [])];
    const flows = inflowOf(operations, this.#queues);
    return [...this.#queues].flatMap(([name, queue]): readonly Write[] => {
      const { pk, sk } = capacityKey(queue);
      if (!isLimited(queue.settings) || !this.#capacities.has(`${pk}\n${sk}`)) return [];
      const held = this.#held.get(name) ?? { messages: 0, bytes: 0 };
      const flow = flows.get(queue);
      const { maxMessages, maxBytes } = queue.settings;
      const set = [
        ...(maxMessages === null ? [] : [[["m"], maxMessages - held.messages - (flow?.inMessages ?? 0)] as const]),
        ...(maxBytes === null ? [] : [[["b"], maxBytes - held.bytes - (flow?.inBytes ?? 0)] as const]),
      ];
      return [
        {
          kind: "update",
          key: { pk, sk },
          change: { set: set.map(([[n], v]) => [[n], v] as const) },
          require: [],
          otherwise: "reload",
        },
      ];
    });
  }
}
