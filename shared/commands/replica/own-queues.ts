import { shards, tailShard } from "../../records/keys.ts";
import type { Key } from "../../records/write.ts";
import type { Store } from "../../store/port.ts";
import { namesPages } from "../pages.ts";

/**
 * Whether a store has queues that its primary does not have: messages of its own. One that is only fed has the primary's,
 * whose generations are random: no other store has the same.
 */
export const hasOwnQueues = async (store: Store, primary: Store): Promise<boolean> => {
  for (const shard of shards) {
    for await (const tails of namesPages({ store }, tailShard(shard))) {
      const keys = tails.map(({ pk, sk }): Key => ({ pk: String(pk), sk: String(sk) }));
      if ((await primary.readAll(keys)).includes(undefined)) return true;
    }
  }
  return false;
};
