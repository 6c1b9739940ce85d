import { type PartitionRef, partitionsOf, type Queue } from "../../domain/queue.ts";
import { type Refusal, refuse } from "../../domain/refusal.ts";
import { standingOf } from "../../domain/run.ts";
import { tailKey } from "../../records/keys.ts";
import { readTail } from "../../records/queue.ts";
import type { Context } from "../context.ts";
import { metRunsOf } from "../met-runs.ts";
import { eachOf } from "../payload.ts";

/** As the OpenAPI document says (`docs/openapi.json`): counters are decimal strings. */
export interface QueueStats {
  readonly available: string;
  readonly leased: string;
  readonly held: string;
  readonly enqueued: string;
  readonly settled: string;
  readonly deadLettered: string;
  readonly changeCounter: string;
  /** Whole seconds; null when nothing is available. */
  readonly oldestAgeSeconds: number | null;
}

/**
 * A queue's settings and what stands on it, counted message by message. Messages whose time is over count as gone:
 * nobody can get them any more.
 */
export const getQueue = async (
  context: Context,
  name: string,
): Promise<{ readonly queue: Queue; readonly stats: QueueStats } | Refusal> => {
  const queue = await context.settings.find(context.store, name, context.now(), true);
  if (queue === undefined) return refuse("not-found", `queue ${name} does not exist`);
  const partitions = partitionsOf(queue);
  const counts = { available: 0, leased: 0, held: 0, oldestMs: Number.POSITIVE_INFINITY };
  await eachOf(partitions, (partition) => count(context, queue, partition, counts));
  return {
    queue,
    stats: {
      available: String(counts.available),
      leased: String(counts.leased),
      held: String(counts.held),
      ...(await cumulative(context, partitions)),
      oldestAgeSeconds: counts.available === 0 ? null : ageSeconds(counts.oldestMs, context.now()),
    },
  };
};

interface Counts {
  available: number;
  leased: number;
  held: number;
  oldestMs: number;
}

const count = async (context: Context, queue: Queue, partition: PartitionRef, into: Counts): Promise<void> => {
  for await (const { runs, nowMs, isAlive } of metRunsOf(context, partition)) {
    for (const run of runs) {
      for (const index of run.slots.keys()) {
        switch (standingOf(run, index, queue.settings, nowMs, isAlive)) {
          case "available":
            into.available++;
            into.oldestMs = Math.min(into.oldestMs, run.createdAtMs);
            break;
          case "leased":
          case "delayed":
            into.leased++;
            break;
          case "held":
            into.held++;
            break;
          case "settled":
          case "expired":
          case "dropped":
          case "exhausted":
            break;
        }
      }
    }
  }
};

const cumulative = async (context: Context, partitions: readonly PartitionRef[]) => {
  const items = await context.store.readAll(partitions.map(tailKey));
  const tails = items.flatMap((item) => (item === undefined ? [] : [readTail(item)]));
  const enqueued = sum(tails.map((tail) => tail.enqueued));
  const settled = sum(tails.map((tail) => tail.settled));
  const deadLettered = sum(tails.map((tail) => tail.deadLettered));
  return {
    enqueued: String(enqueued),
    settled: String(settled),
    deadLettered: String(deadLettered),
    changeCounter: String(enqueued + settled + deadLettered),
  };
};

const sum = (counters: readonly number[]): bigint => counters.reduce((total, counter) => total + BigInt(counter), 0n);

/** Clocks differ: an age is never negative. */
const ageSeconds = (sinceMs: number, nowMs: number): number => Math.max(0, Math.floor((nowMs - sinceMs) / 1000));
