import { branchPk, branchPrefix, shards } from "../../records/keys.ts";
import { text } from "../../records/reading.ts";
import type { Item } from "../../records/write.ts";
import type { Context } from "../context.ts";

/** Branches that one query of a listing reads. */
const BRANCHES_PER_QUERY = 100;

/** A place in the list of all branches: after this sort key of this shard, or before the shard's first. */
export interface Place {
  readonly shard: number;
  readonly after?: string;
}

/** The record of a branch, and the place behind it. */
export interface Placed {
  readonly item: Item;
  readonly place: Place;
}

/** Every branch's record in the order of the shards, page by page, from a place on; only as far as the caller goes on. */
export async function* branchPages(context: Context, from: Place = { shard: 0 }): AsyncGenerator<readonly Placed[]> {
  for (let shard = from.shard; shard < shards.length; shard++) {
    yield* shardPages(context, shard, shard === from.shard ? from.after : undefined);
  }
}

/** The branches' records of one shard. */
export async function* shardPages(context: Context, shard: number, from?: string): AsyncGenerator<readonly Placed[]> {
  let after = from;
  do {
    const page = await context.store.query({
      pk: branchPk(shards[shard] ?? ""),
      beginsWith: branchPrefix,
      limit: BRANCHES_PER_QUERY,
      ...(after !== undefined && { after }),
    });
    if (page.items.length > 0) yield page.items.map((item) => ({ item, place: { shard, after: text(item, "sk") } }));
    after = page.next;
  } while (after !== undefined);
}

/** What is picked of every branch's record, all shards at the same time: for work that wants all and in no order. */
export const pickBranches = async <T>(context: Context, pick: (item: Item) => T | undefined): Promise<readonly T[]> => {
  const byShard = await Promise.all(
    shards.map(async (_, shard) => {
      const picked: T[] = [];
      for await (const page of shardPages(context, shard)) {
        picked.push(...page.flatMap(({ item }) => pick(item) ?? []));
      }
      return picked;
    }),
  );
  return byShard.flat();
};
