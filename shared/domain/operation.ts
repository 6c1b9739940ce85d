/** What a branch did, in order: its mappings, each naming add or remove. They are applied by commit, undone by rollback. */
import type { Payload, RunKey } from "./run.ts";

/** Messages that commit puts at the tail of a queue, as one run. At most 100. */
export interface Add {
  readonly kind: "add";
  /** Made before the first attempt: a branch that lists it has it. */
  readonly id: string;
  readonly queue: string;
  readonly generation: string;
  readonly partition: number;
  /** Body bytes of each message. */
  readonly sizes: readonly number[];
  readonly overheadBytes: number;
  readonly messageIdBase: string;
  /** Of each message, its own and its queue's taken together; 0: none. It runs from the commit on. */
  readonly ttlSeconds: readonly number[];
  /** Index, deduplication id, and the message id where it was given. */
  readonly deduplications: readonly (readonly [index: number, id: string, messageId?: string])[];
  readonly payload: Payload;
  /** Of its queue, for when that is gone at the commit and nobody else knows any more. */
  readonly deadLetterQueue?: string;
}

/** Messages of one run that the branch holds and commit settles. */
export interface Remove {
  readonly kind: "remove";
  readonly id: string;
  readonly run: RunKey;
  readonly indexes: readonly number[];
  /** Their body bytes together. */
  readonly bytes: number;
  /** Every message of the run that was not settled is held by this branch: commit tries to delete the run. */
  readonly isWhole: boolean;
  /** Chunks to delete when the run goes; absent when the bodies are inline or go by their TTL. */
  readonly payload?: Extract<Payload, { kind: "chunks" }>;
}

export type Operation = Add | Remove;

export const messagesIn = (operation: Operation): number =>
  operation.kind === "add" ? operation.sizes.length : operation.indexes.length;
