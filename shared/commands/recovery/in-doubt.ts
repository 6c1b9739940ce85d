import type { Branch } from "../../domain/branch.ts";
import { messagesIn, type Operation, type Remove } from "../../domain/operation.ts";
import { type QueueRef, wireSequence } from "../../domain/queue.ts";
import { messageIdOf, type Payload, type Run } from "../../domain/run.ts";
import type { Xid } from "../../domain/xid.ts";
import { branchKey, deletedQueueKey, runKey } from "../../records/keys.ts";
import { readDeletedQueue } from "../../records/queue.ts";
import { Unreadable } from "../../records/reading.ts";
import { readRun } from "../../records/run.ts";
import type { Context } from "../context.ts";
import { loadOperations } from "../dtx/operations.ts";
import { loadMessages } from "../payload.ts";

/** A prepared branch and its mappings: what commit will add and remove. */
export interface InDoubt {
  readonly xid: Xid;
  readonly preparedAtMs: number;
  readonly enqueues: readonly Enqueue[];
  readonly dequeues: readonly Dequeue[];
  /** It has more mappings than are listed. */
  readonly more: boolean;
}

interface Enqueue {
  readonly queue: string;
  readonly messageId: string;
}

interface Dequeue extends Enqueue {
  readonly sequence: string;
}

/** Messages whose mappings are read at the same time. */
const MESSAGES_AT_ONCE = 500;
const OPERATIONS_AT_ONCE = 50;

/**
 * Replays the mapping records of a prepared branch, up to so many bytes of answer and until the call must stop. Throws
 * `Unreadable` when an operation, run or payload is not there or cannot be read.
 */
export const replay = async (
  context: Context,
  branch: Branch,
  preparedAtMs: number,
  maxBytes: number,
): Promise<InDoubt> => {
  const enqueues: Enqueue[] = [];
  const dequeues: Dequeue[] = [];
  let bytes = 0;
  let more = false;
  for (const group of groupsOf(await loadOperations(context, branch))) {
    more = bytes > maxBytes || context.now() > context.stopAtMs;
    if (more) break;
    for (const mappings of await Promise.all(group.map((operation) => mappingsOf(context, branch, operation)))) {
      enqueues.push(...mappings.enqueues);
      dequeues.push(...mappings.dequeues);
      bytes += Buffer.byteLength(JSON.stringify(mappings));
    }
  }
  return { xid: branch.xid, preparedAtMs, enqueues, dequeues, more };
};

const groupsOf = (operations: readonly Operation[]): readonly (readonly Operation[])[] => {
  const groups: Operation[][] = [];
  let messages = 0;
  for (const operation of operations) {
    const last = groups.at(-1);
    messages += messagesIn(operation);
    if (last !== undefined && last.length < OPERATIONS_AT_ONCE && messages <= MESSAGES_AT_ONCE) last.push(operation);
    else {
      groups.push([operation]);
      messages = messagesIn(operation);
    }
  }
  return groups;
};

interface Mappings {
  readonly enqueues: readonly Enqueue[];
  readonly dequeues: readonly Dequeue[];
}

const mappingsOf = async (context: Context, branch: Branch, operation: Operation): Promise<Mappings> => {
  if (operation.kind === "remove") return { enqueues: [], dequeues: await dequeuesOf(context, branch, operation) };
  const indexes = [...operation.sizes.keys()];
  const ids = await messageIds(context, branch, operation.payload, operation.messageIdBase, indexes);
  return { enqueues: ids.map((messageId) => ({ queue: operation.queue, messageId })), dequeues: [] };
};

const dequeuesOf = async (context: Context, branch: Branch, remove: Remove): Promise<readonly Dequeue[]> => {
  const [run, partitions] = await Promise.all([loadRun(context, branch, remove), partitionsOf(context, remove.run)]);
  const ids = await messageIds(context, branch, run.payload, run.messageIdBase, remove.indexes);
  return remove.indexes.map((index, i) => ({
    queue: remove.run.name,
    messageId: ids[i] ?? "",
    sequence: wireSequence(remove.run.position + index, remove.run.partition, partitions),
  }));
};

const loadRun = async (context: Context, branch: Branch, remove: Remove): Promise<Run> => {
  const item = await context.store.read(runKey(remove.run));
  if (item === undefined) throw lacking(branch, "a run that it holds is not there");
  return readRun(item, remove.run);
};

/** Of a queue that was deleted the mark tells; it stays as long as a branch holds anything there. */
const partitionsOf = async (context: Context, ref: QueueRef): Promise<number> => {
  const queue = await context.settings.findLife(context.store, ref, context.now());
  if (queue !== undefined) return queue.settings.partitions;
  const mark = await context.store.read(deletedQueueKey(ref));
  return mark === undefined ? 1 : readDeletedQueue(mark).settings.partitions;
};

const messageIds = async (
  context: Context,
  branch: Branch,
  payload: Payload,
  base: string,
  indexes: readonly number[],
): Promise<readonly string[]> => {
  const messages = await loadMessages(context, payload, indexes);
  return indexes.map((index) => {
    const message = messages.get(index);
    if (message === undefined) throw lacking(branch, "a payload is not there");
    return message.properties.messageId ?? messageIdOf(base, index);
  });
};

const lacking = (branch: Branch, problem: string): Unreadable => new Unreadable({ ...branchKey(branch.xid) }, problem);
