import { changesShard, countChanges } from "../../records/replica.ts";
import { type Arrival, arrivalsOf, type Held, heldAfter, heldWrites } from "../../records/replicated.ts";
import { stoneKey } from "../../records/replication.ts";
import type { Item, Key } from "../../records/write.ts";
import { type Store, Unavailable } from "../../store/port.ts";
import { commitFed, fitting, type Step, sizeOf, TURNS } from "./commit-fed.ts";
import { noteCommits } from "./note-commits.ts";

/** Shards that are fed side by side. */
const SHARDS_AT_ONCE = 4;
/** Two records each, the fence beside them. */
const KEYS_PER_COMMIT = 44;

/**
 * Brings images of a primary's records to a replica, in the stream's order, each if it is newer than what the replica
 * holds at its key, and counts the changes of queues that they are, each once. They may come in any order, again, and from
 * several at once. `noted`: commits that this process has noted on this replica; it is kept small here. Throws `Fenced`
 * once the replica is promoted, `Unavailable` on lost contact, `Unreadable` on a run that is no run; then a part of the
 * images may be applied, and all of them may come again.
 */
export const applyImages = async (
  replica: Store,
  images: readonly Item[],
  noted: Set<string> = new Set(),
): Promise<void> => {
  // First, and for all: a later image of the same record may be among them, and would hide that the commit happened.
  await noteCommits(replica, images, noted);
  const shards = Map.groupBy(images.flatMap(arrivalsOf), ({ key }) => changesShard(key.pk));
  await atOnce(SHARDS_AT_ONCE, [...shards], ([shard, arrivals]) => applyTo(replica, shard, arrivals));
};

/** Runs so many at a time; after a failure none begins, and it is thrown when the others are done. */
const atOnce = async <T>(most: number, all: readonly T[], run: (one: T) => Promise<void>): Promise<void> => {
  const left = [...all];
  const failures: unknown[] = [];
  const runner = async (): Promise<void> => {
    for (let one = left.shift(); one !== undefined; one = left.shift()) {
      await run(one).catch((error: unknown) => {
        failures.push(error);
        left.length = 0;
      });
    }
  };
  await Promise.all(Array.from({ length: most }, runner));
  if (failures.length > 0) throw failures[0];
};

/** All that came for one key, in order. */
interface Target {
  readonly key: Key;
  readonly arrivals: readonly Arrival[];
}

const applyTo = async (replica: Store, shard: string, arrivals: readonly Arrival[]): Promise<void> => {
  const byKey = Map.groupBy(arrivals, ({ key: { pk, sk } }) => `${pk}\n${sk}`);
  let left: readonly Target[] = [...byKey.values()].flatMap((of) => (of[0] ? [{ key: of[0].key, arrivals: of }] : []));
  for (let turns = 0; left.length > 0; turns++) {
    if (turns === TURNS) throw new Unavailable("others feed the same records all the time");
    const steps = fitting(await planned(replica, left.slice(0, KEYS_PER_COMMIT)));
    const changes = steps.reduce((sum, step) => sum + step.changes, 0);
    const writes = steps.flatMap((step) => step.writes);
    // What was not as it was read is decided again.
    if (!(await commitFed(replica, countChanges(shard, changes), writes))) continue;
    left = left.slice(steps.length);
    turns = -1;
  }
};

/** What one key's arrivals come to, given what the replica holds. */
interface CountedStep extends Step {
  readonly changes: number;
}

const planned = async (replica: Store, targets: readonly Target[]): Promise<readonly CountedStep[]> => {
  const items = await replica.readAll(targets.flatMap(({ key }) => [key, stoneKey(key)]));
  return targets.map((target, i) => stepOf(target, { record: items[2 * i], stone: items[2 * i + 1] }));
};

const stepOf = ({ key, arrivals }: Target, before: Held): CountedStep => {
  let held = before;
  let changes = 0;
  for (const arrival of arrivals) {
    const after = heldAfter(held, arrival);
    held = after.held;
    changes += after.changes;
  }
  return { writes: heldWrites(key, before, held), changes, bytes: sizeOf(before.record) + sizeOf(held.record) };
};
