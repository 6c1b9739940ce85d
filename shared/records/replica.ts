/**
 * The records that a replica keeps for itself, which come from no image: `REPLICA#CHANGES` / `<shard 00..15>` counts the
 * changes (`n`) of queues that it has applied, by the partition key of their run; `fenced` ends the feed for good.
 */
import { fnv1a } from "../domain/hash.ts";
import { SHARDS } from "../domain/limits.ts";
import { changesPk } from "./keys.ts";
import type { Term, Write } from "./write.ts";

export const replicaPrefix = "REPLICA#";

/** The shard of the counter for what happens to the records of this partition key. */
export const changesShard = (pk: string): string => String(fnv1a(pk) % SHARDS).padStart(2, "0");

const unfenced: readonly Term[] = [{ is: "lacks", path: ["fenced"] }];

/** Stands in every commit of the feed: counts, and fails once the replica is promoted. */
export const countChanges = (shard: string, changes: number): Write => {
  const rest = { key: { pk: changesPk, sk: shard }, require: unfenced, otherwise: "reload" } as const;
  return changes === 0 ? { kind: "check", ...rest } : { kind: "update", change: { add: [[["n"], changes]] }, ...rest };
};
