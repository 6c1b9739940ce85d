import { changed } from "../../records/changed.ts";
import { countFenced } from "../../records/fence.ts";
import { storeKey } from "../../records/keys.ts";
import { changesShard } from "../../records/replica.ts";
import { type Arrival, type Held, heldAfter, heldWrites } from "../../records/replicated.ts";
import { endOf, type Journal, markAttributes, stampOf, stoneKey } from "../../records/replication.ts";
import type { Write } from "../../records/write.ts";
import { type Store, Unavailable } from "../../store/port.ts";

/** What is decided again because the record changed in between: only another promotion of the same store does that. */
const TURNS = 20;

/**
 * Makes a store whole in which some of the records of a commit are not there yet: each that is older than the commit
 * becomes what the commit made of it, and is counted. To repeat it changes nothing.
 */
export const redo = async (store: Store, journal: Journal): Promise<void> => {
  for (const write of journal.writes) {
    // What is left of a limit is computed, when all is there.
    if (write.key.pk === storeKey.pk || write.key.sk.startsWith("CAPACITY#")) continue;
    await redoOne(store, journal, write);
  }
};

const redoOne = async (store: Store, journal: Journal, write: Write): Promise<void> => {
  for (let turns = 0; turns < TURNS; turns++) {
    const [record, stone] = await store.readAll([write.key, stoneKey(write.key)]);
    const before: Held = { record, stone };
    const arrival = arrivalOf(journal, write, before);
    if (arrival === undefined) return;
    const { held, changes } = heldAfter(before, arrival);
    const writes = heldWrites(write.key, before, held);
    if (writes.length === 0) return;
    const counted = changes === 0 ? [] : [countFenced(changesShard(write.key.pk), changes)];
    if ((await store.commit([...writes, ...counted])).done) return;
  }
  throw new Unavailable("the store is being changed by another");
};

/** What the commit brought to this record; nothing when the record went since, or is newer. */
const arrivalOf = (journal: Journal, write: Write, { record }: Held): Arrival | undefined => {
  const { key } = write;
  const marks = markAttributes(journal);
  switch (write.kind) {
    case "put":
      return { is: "record", key, item: { ...write.item, ...key, ...marks } };
    case "update":
      if (record === undefined || stampOf(record) >= journal.stamp) return undefined;
      return { is: "record", key, item: { ...changed(record, write.change), ...marks } };
    case "delete":
      return { is: "stone", key, item: { ...stoneKey(key), ...marks, ttl: endOf(journal) } };
    case "check":
      return undefined;
  }
};
