import { type PartitionRef, partitionsOf, type Queue } from "../../domain/queue.ts";
import { type Refusal, refuse } from "../../domain/refusal.ts";
import type { Standing } from "../../domain/run.ts";
import { tailKey } from "../../records/keys.ts";
import { readTail } from "../../records/queue.ts";
import type { Context } from "../context.ts";
import { metRunsOf } from "../met-runs.ts";
import { type Over, overOfAll } from "../over.ts";
import { eachOf } from "../payload.ts";
import { settleSome } from "./settle-some.ts";

export interface Purged {
  readonly purged: number;
  /** The time limit came first: purge again for the rest. */
  readonly more: boolean;
}

/**
 * Settles the available messages that stood on the queue when the call began. Leased and held ones stay; what is over by
 * time goes where it goes anyway and is not counted as purged.
 */
export const purge = async (context: Context, name: string): Promise<Purged | Refusal> => {
  const queue = await context.settings.find(context.store, name, context.now(), true);
  if (queue === undefined) return refuse("not-found", `queue ${name} does not exist`);
  const partitions = partitionsOf(queue);
  const tails = await context.store.readAll(partitions.map(tailKey));
  let purged = 0;
  for (const [i, partition] of partitions.entries()) {
    const tail = tails[i];
    const end = tail === undefined ? 0 : readTail(tail).enqueued;
    const part = await purgePartition(context, queue, partition, end);
    purged += part.purged;
    if (part.more) return { purged, more: true };
  }
  return { purged, more: false };
};

const purgePartition = async (
  context: Context,
  queue: Queue,
  partition: PartitionRef,
  end: number,
): Promise<Purged> => {
  let purged = 0;
  let more = false;
  for await (const { runs } of metRunsOf(context, partition)) {
    const wanted = runs.filter((run) => run.key.position < end);
    await eachOf(wanted, async (run) => {
      more ||= context.now() >= context.stopAtMs;
      if (more) return;
      const gone = await settleSome(context, queue, run, availableAndOver);
      purged += gone?.purged ?? 0;
    });
    if (more || wanted.length < runs.length) break;
  }
  return { purged, more };
};

const availableAndOver = (standings: readonly Standing[]): Over & { readonly purged: number } => {
  const over = overOfAll(standings);
  const available = [...standings.keys()].filter((index) => standings[index] === "available");
  return { settled: [...over.settled, ...available], dead: over.dead, purged: available.length };
};
