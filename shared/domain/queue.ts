/** Queues: their settings, which never change, and what tells one life of a name from the next. */

import { fnv1a } from "./hash.ts";
import { LEASE_SECONDS_DEFAULT } from "./limits.ts";

export type MessageDurability = "default" | "always" | "never";
export type Overflow = "reject" | "ring";

/** Settings as `PUT /queues/{queue}` takes them (`docs/openapi.json`). null: without that limit. */
export interface QueueSettings {
  readonly messageDurability: MessageDurability;
  readonly strictOrder: boolean;
  readonly leaseSeconds: number;
  /** 0: any number of deliveries. */
  readonly maxDeliveries: number;
  readonly deadLetterQueue: string | null;
  readonly messageTtlSeconds: number | null;
  /** null: keep until settled. */
  readonly retentionSeconds: number | null;
  readonly maxMessages: number | null;
  readonly maxBytes: number | null;
  readonly overflow: Overflow;
  readonly partitions: number;
}

export const defaultSettings: QueueSettings = {
  messageDurability: "default",
  strictOrder: false,
  leaseSeconds: LEASE_SECONDS_DEFAULT,
  maxDeliveries: 0,
  deadLetterQueue: null,
  messageTtlSeconds: null,
  retentionSeconds: null,
  maxMessages: null,
  maxBytes: null,
  overflow: "reject",
  partitions: 1,
};

/** One life of a queue's name: declared again after a delete, the name has another generation that shares nothing. */
export interface QueueRef {
  readonly name: string;
  readonly generation: string;
}

/** One text for one life: names have no `#`. */
export const queueName = (queue: QueueRef): string => `${queue.name}#${queue.generation}`;

export interface Queue extends QueueRef {
  readonly settings: QueueSettings;
}

export interface PartitionRef extends QueueRef {
  readonly partition: number;
}

export const sameSettings = (a: QueueSettings, b: QueueSettings): boolean =>
  (Object.keys(defaultSettings) as (keyof QueueSettings)[]).every((name) => a[name] === b[name]);

export const isLimited = (settings: QueueSettings): boolean =>
  settings.maxMessages !== null || settings.maxBytes !== null;

export const partitionsOf = (queue: Queue): readonly PartitionRef[] =>
  Array.from({ length: queue.settings.partitions }, (_, partition) => ({
    name: queue.name,
    generation: queue.generation,
    partition,
  }));

/** A session always meets the same partition, so that its order holds; without one any will do. */
export const partitionFor = (settings: QueueSettings, session: string | undefined, any: number): number =>
  settings.partitions === 1 ? 0 : (session === undefined ? any : fnv1a(session)) % settings.partitions;

/** The sequence that callers see: unique and rising within a queue's partition, unique within the queue. */
export const wireSequence = (position: number, partition: number, partitions: number): string =>
  String(BigInt(position) * BigInt(partitions) + BigInt(partition));
