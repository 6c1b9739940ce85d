import type { Member } from "../../domain/store-status.ts";
import { storeKey } from "../../records/keys.ts";
import { stampOf, stoneKey } from "../../records/replication.ts";
import { readStore } from "../../records/store.ts";
import type { Item } from "../../records/write.ts";
import { type Store, Unavailable } from "../../store/port.ts";
import type { Follower } from "../../store/replication/port.ts";

/** A replica as whoever waits for it sees it: its records, as long as it is a replica. `first`: what must be done before. */
export const followerOf = (member: Member, store: Store, first?: () => Promise<void>): Follower => ({
  storeId: member.storeId,
  missing: async (expected) => {
    await first?.();
    const [own, ...records] = await store.readAll([storeKey, ...expected.map(({ key }) => key)]);
    mustFollow(member, own);
    const unseen = expected.filter(({ stamp }, i) => stampOf(records[i]) < stamp);
    const stones = await store.readAll(unseen.map(({ key }) => stoneKey(key)));
    return unseen.filter(({ stamp }, i) => stampOf(stones[i]) < stamp);
  },
});

/** A store that was promoted follows nobody: what it shows says nothing of what it will keep. */
const mustFollow = ({ storeId, state }: Member, own: Item | undefined): void => {
  const { configuration } = readStore(own);
  if (state === "in-sync" && configuration?.role !== "replica")
    throw new Unavailable(`${storeId} is no replica any more`);
};
