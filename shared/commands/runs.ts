import type { PartitionRef } from "../domain/queue.ts";
import type { Run } from "../domain/run.ts";
import { runPk, runSk } from "../records/keys.ts";
import { positionOf, readRun } from "../records/run.ts";
import type { Context } from "./context.ts";

export interface RunsWanted {
  /** Position of the first run wanted; without it from the head. */
  readonly from?: number;
  /** Runs that one query reads at most; without it as many as a query gives. */
  readonly limit?: number;
}

/**
 * The runs of one partition in order, read strongly, a query at a time, only as far as the caller goes on. A record that
 * cannot be read throws `Unreadable`.
 */
export async function* runsOf(context: Context, partition: PartitionRef, wanted: RunsWanted = {}): AsyncGenerator<Run> {
  for await (const page of runPages(context, partition, wanted)) yield* page;
}

/** The same, query by query: for what is better asked for several runs at once. */
export async function* runPages(
  context: Context,
  partition: PartitionRef,
  { from = 0, limit }: RunsWanted = {},
): AsyncGenerator<readonly Run[]> {
  let after: string | undefined;
  do {
    const page = await context.store.query({
      pk: runPk(partition),
      from: runSk(from),
      ...(after !== undefined && { after }),
      ...(limit !== undefined && { limit }),
    });
    const { name, generation, partition: number } = partition;
    yield page.items.map((item) => readRun(item, { name, generation, partition: number, position: positionOf(item) }));
    after = page.next;
  } while (after !== undefined);
}
