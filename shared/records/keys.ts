/** Where each record lies. The table of all of them heads `README.md` beside this file. */
import { fnv1a } from "../domain/hash.ts";
import { SHARDS } from "../domain/limits.ts";
import type { PartitionRef, QueueRef } from "../domain/queue.ts";
import type { RunKey } from "../domain/run.ts";
import type { Xid } from "../domain/xid.ts";
import type { Key } from "./write.ts";

const shardOf = (text: string): string => String(fnv1a(text) % SHARDS).padStart(2, "0");

/** All shards of a sharded list, in order. */
export const shards: readonly string[] = Array.from({ length: SHARDS }, (_, i) => String(i).padStart(2, "0"));

export const settingsKey = (queue: string): Key => ({ pk: `QUEUE#${queue}`, sk: "SETTINGS" });

export const capacityKey = (queue: QueueRef): Key => ({
  pk: `QUEUE#${queue.name}`,
  sk: `CAPACITY#${queue.generation}`,
});

/** Names have no `#`, so the parts of these keys cannot run into each other. */
export const partitionName = (p: PartitionRef): string => `${p.name}#${p.generation}#${p.partition}`;

export const tailKey = (p: PartitionRef): Key => ({ pk: tailShard(shardOf(partitionName(p))), sk: partitionName(p) });

export const tailShard = (shard: string): string => `TAIL#${shard}`;

export const deletedQueuePk = "DELETED";

/** One life of a queue's name. */
export const generationName = (queue: QueueRef): string => `${queue.name}#${queue.generation}`;

export const deletedQueueKey = (queue: QueueRef): Key => deletedMarkKey(generationName(queue));

/** The mark of a deleted queue by its `generationName`. */
export const deletedMarkKey = (generation: string): Key => ({ pk: deletedQueuePk, sk: generation });

export const runPk = (p: PartitionRef): string => `QUEUE#${partitionName(p)}`;

export const runSk = (position: number): string => `M#${String(position).padStart(20, "0")}`;

export const runKey = (key: RunKey): Key => ({ pk: runPk(key), sk: runSk(key.position) });

/** The owner of a run's own payload; a branch's operations own theirs by `operationOwner`. */
export const runOwner = (key: RunKey): string => `${partitionName(key)}#${key.position}`;

/** An operation's id is random: no two of any incarnation share it. */
export const operationOwner = (xid: Xid, operation: string): string => `${xid}@${operation}`;

export const payloadPk = (owner: string): string => `PAYLOAD#${owner}`;

export const payloadKey = (owner: string, chunk: number): Key => ({
  pk: payloadPk(owner),
  sk: String(chunk).padStart(4, "0"),
});

export const branchPk = (shard: string): string => `TPL#${shard}`;

export const branchPrefix = "XID#";

export const branchKey = (xid: Xid): Key => ({ pk: branchPk(shardOf(xid)), sk: `${branchPrefix}${xid}` });

/** Blocks lie beside their branch, but not between the branches that a listing reads. */
export const blockKey = (xid: Xid, incarnation: string, block: number): Key => ({
  pk: branchPk(shardOf(xid)),
  sk: `OPS#${xid}#${incarnation}#${block}`,
});

export const outcomeKey = (xid: Xid): Key => ({ pk: `OUTCOME#${xid}`, sk: "OUTCOME" });

export const sessionKey = (session: string): Key => ({ pk: `SESSION#${session}`, sk: "STATE" });

export const commandPrefix = "COMMAND#";

const commandNumber = (command: number): string => String(command).padStart(20, "0");

/** A command that is open. */
export const commandKey = (session: string, command: number): Key => ({
  pk: sessionKey(session).pk,
  sk: `${commandPrefix}${commandNumber(command)}`,
});

export const completionPrefix = "COMPLETION#";

export const completionKey = (session: string, command: number): Key => ({
  pk: sessionKey(session).pk,
  sk: `${completionPrefix}${commandNumber(command)}`,
});

/** The payload of a command: random, because a number may be asked for by several. */
export const commandOwner = (session: string, random: string): string => `${session}#${random}`;

export const commandListPk = (shard: string): string => `COMMANDS#${shard}`;

/** The list of sessions with commands. */
export const commandListKey = (session: string): Key => ({ pk: commandListPk(shardOf(session)), sk: session });

/** What was applied of the messages that came by the command queue alone. */
export const appliedKey = (id: string): Key => ({ pk: `APPLIED#${id}`, sk: "APPLIED" });

export const deduplicationKey = (queue: QueueRef, id: string): Key => ({
  pk: `DEDUP#${queue.name}#${queue.generation}#${id}`,
  sk: "DEDUP",
});

export const idempotencyKey = (principal: string, key: string): Key => ({
  pk: `IDEMPOTENCY#${principal}#${key}`,
  sk: "IDEMPOTENCY",
});

export const storeKey: Key = { pk: "STORE", sk: "STATUS" };

/** What a replica has applied: a counter a shard, so that no one record takes the heat of all of them. */
export const changesPk = "REPLICA#CHANGES";

export const changesKey = (shard: string): Key => ({ pk: changesPk, sk: shard });

export const exchangePk = (exchange: string): string => `EXCHANGE#${exchange}`;

export const exchangeKey = (exchange: string): Key => ({ pk: exchangePk(exchange), sk: "SETTINGS" });

export const bindingPrefix = "BINDING#";

/** Names have no `#`: what comes after the last one is the queue, whatever the binding's key is. */
export const bindingKey = (exchange: string, key: string, queue: string): Key => ({
  pk: exchangePk(exchange),
  sk: `${bindingPrefix}${key}#${queue}`,
});

export const queueBindingsPk = (queue: string): string => `QUEUE#${queue}`;

/** The same binding, found from its queue. */
export const queueBindingKey = (queue: string, exchange: string, key: string): Key => ({
  pk: queueBindingsPk(queue),
  sk: `${bindingPrefix}${exchange}#${key}`,
});
