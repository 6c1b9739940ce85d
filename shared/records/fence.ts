/** The fence before a replica's records: `fenced` on each shard of its counter, which every commit of the feed asks for. */
import { changesPk } from "./keys.ts";
import type { Change, Write } from "./write.ts";

const update = (shard: string, change: Change): Write => ({
  kind: "update",
  key: { pk: changesPk, sk: shard },
  change,
  require: [],
  otherwise: "reload",
});

/** From now on nothing is fed to records of this shard. */
export const fenceShard = (shard: string): Write => update(shard, { set: [[["fenced"], true]], add: [[["n"], 0]] });

/** The store becomes a replica again. */
export const unfenceShard = (shard: string): Write => update(shard, { remove: [["fenced"]], add: [[["n"], 0]] });

/** Counts what is made up for behind the fence. */
export const countFenced = (shard: string, changes: number): Write => update(shard, { add: [[["n"], changes]] });
