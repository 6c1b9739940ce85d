import { stampOf, stoneKey, stonePrefix } from "../../records/replication.ts";
import type { Item, Key } from "../../records/write.ts";
import type { WholeStore } from "../../store/port.ts";
import { applyImages } from "./apply.ts";

/** Records looked up at a time. */
const KEYS_AT_ONCE = 100;

/**
 * Makes a replica hold what its primary holds: every record that is missing or older there is put, every one that is gone
 * here goes. What changes meanwhile comes by the table's stream. Safe to repeat, and beside the stream's own feed.
 */
export const copyAll = async (primary: WholeStore, replica: WholeStore): Promise<void> => {
  for await (const items of pagesOf(primary)) await applyImages(replica, items);
  for await (const items of pagesOf(replica)) {
    const held = items.filter(isOfPrimary);
    for (let at = 0; at < held.length; at += KEYS_AT_ONCE) {
      await applyImages(replica, await goneOf(primary, held.slice(at, at + KEYS_AT_ONCE)));
    }
  }
};

/** Every record of the store, page by page. */
export async function* pagesOf(store: WholeStore): AsyncGenerator<readonly Item[]> {
  let after: Key | undefined;
  do {
    const page = await store.scan(after);
    yield page.items;
    after = page.next;
  } while (after !== undefined);
}

/** Stones for what the primary does not have: newer than what is held, older than whatever is put there again. */
const goneOf = async (primary: WholeStore, held: readonly Item[]): Promise<readonly Item[]> => {
  const there = await primary.readAll(held.map(keyOf));
  return held.flatMap((item, i) =>
    there[i] === undefined ? [{ ...stoneKey(keyOf(item)), rv: stampOf(item) + 1 }] : [],
  );
};

const keyOf = (item: Item): Key => ({ pk: String(item.pk), sk: String(item.sk) });

/** What a store keeps for itself or for its replicas is no copy of anything. */
const isOfPrimary = ({ pk }: Item): boolean =>
  !["STORE", "REPLICA#", stonePrefix, "STONES#", "JOURNAL#"].some((own) => String(pk).startsWith(own));
