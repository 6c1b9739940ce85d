import { ANSWER_BYTES, MESSAGES_PER_RUN } from "../../domain/limits.ts";
import type { Message } from "../../domain/message.ts";
import { type PartitionRef, partitionsOf, type Queue, wireSequence } from "../../domain/queue.ts";
import { type Refusal, refuse } from "../../domain/refusal.ts";
import { messageIdOf, type Run, standingOf } from "../../domain/run.ts";
import type { Context } from "../context.ts";
import { merged } from "../merged.ts";
import { metRunsOf } from "../met-runs.ts";
import { eachOf, loadMessages } from "../payload.ts";

export interface Browsed {
  readonly sequence: string;
  readonly messageId: string;
  readonly message: Message;
}

export interface BrowsePage {
  readonly messages: readonly Browsed[];
  /** The sequence to go on after, when there may be more. */
  readonly next?: string;
}

/** Available messages in the order of their sequences, only those after the one given; takes and counts nothing. */
export const browse = async (
  context: Context,
  name: string,
  wanted: { readonly after?: string | undefined; readonly limit: number },
): Promise<BrowsePage | Refusal> => {
  const queue = await context.settings.find(context.store, name, context.now(), true);
  if (queue === undefined) return refuse("not-found", `queue ${name} does not exist`);
  const { found, more } = await find(context, queue, BigInt(wanted.after ?? -1), wanted.limit);
  const last = found.at(-1);
  return {
    messages: await load(context, found),
    ...(more && last !== undefined && { next: String(last.sequence) }),
  };
};

interface Found {
  readonly sequence: bigint;
  readonly run: Run;
  readonly index: number;
}

/** What an answer says of a message beside what the run counts: its sequence and punctuation, in bytes. */
const ENTRY_BYTES = 100;

const find = async (
  context: Context,
  queue: Queue,
  after: bigint,
  limit: number,
): Promise<{ found: readonly Found[]; more: boolean }> => {
  const perQuery = Math.max(10, Math.ceil(limit / queue.settings.partitions));
  const sources = partitionsOf(queue).map((partition) => availableIn(context, queue, partition, after, perQuery));
  const found: Found[] = [];
  let bytes = 0;
  for await (const next of merged(sources, (a, b) => a.sequence < b.sequence)) {
    bytes += (next.run.sizes[next.index] ?? 0) + next.run.overheadBytes + ENTRY_BYTES;
    if (found.length === limit || (found.length > 0 && bytes > ANSWER_BYTES)) return { found, more: true };
    found.push(next);
  }
  return { found, more: false };
};

async function* availableIn(
  context: Context,
  queue: Queue,
  partition: PartitionRef,
  after: bigint,
  perQuery: number,
): AsyncGenerator<Found> {
  const { partitions } = queue.settings;
  // The first position wanted may stand anywhere in a run that begins before it.
  const from = Math.max(0, Number(after / BigInt(partitions)) - MESSAGES_PER_RUN);
  if (!Number.isSafeInteger(from)) return;
  for await (const { runs, nowMs, isAlive } of metRunsOf(context, partition, { from, limit: perQuery })) {
    for (const run of runs) {
      for (const index of run.slots.keys()) {
        const sequence = BigInt(wireSequence(run.key.position + index, partition.partition, partitions));
        if (sequence <= after) continue;
        if (standingOf(run, index, queue.settings, nowMs, isAlive) === "available") yield { sequence, run, index };
      }
    }
  }
}

/** The messages found, in their order; one that was settled and deleted since it was found is left out. */
const load = async (context: Context, found: readonly Found[]): Promise<readonly Browsed[]> => {
  const byRun = Map.groupBy(found, ({ run }) => run);
  const messages = new Map<Run, ReadonlyMap<number, Message>>();
  await eachOf([...byRun], async ([run, wanted]) => {
    const indexes = wanted.map(({ index }) => index);
    messages.set(run, await loadMessages(context, run.payload, indexes));
  });
  return found.flatMap(({ sequence, run, index }) => {
    const message = messages.get(run)?.get(index);
    if (message === undefined) return [];
    const messageId = message.properties.messageId ?? messageIdOf(run.messageIdBase, index);
    return { sequence: String(sequence), messageId, message };
  });
};
