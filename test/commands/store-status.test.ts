import { describe, expect, it } from "vitest";
import { deleteQueue } from "../../shared/commands/queues/delete.ts";
import { findDeleted, sweepDeleted } from "../../shared/commands/queues/sweep.ts";
import { ensureStoreId, readStoreStatus, storeStatus } from "../../shared/commands/store/status.ts";
import { DELETED_QUEUE_SWEEP_MS, FOLDED_MS, FOLDED_QUEUES } from "../../shared/domain/limits.ts";
import type { Queue } from "../../shared/domain/queue.ts";
import { changesKey, generationName, storeKey, tailKey } from "../../shared/records/keys.ts";
import { countSettled, type DeletedQueue } from "../../shared/records/queue.ts";
import { type Configuration, readStore, setConfiguration, setShutdown } from "../../shared/records/store.ts";
import type { Write } from "../../shared/records/write.ts";
import type { Query, Store } from "../../shared/store/port.ts";
import { declared, put } from "../support/messages.ts";
import { type TestCall, useTable } from "../support/table.ts";

const table = useTable();

/** The same store, but before each call something else happens first. */
const stepping = (store: Store, before: (call: string, on: readonly string[]) => Promise<void>): Store => ({
  read: async (key, consistency) => {
    await before("read", [key.pk]);
    return store.read(key, consistency);
  },
  readAll: async (keys, consistency) => {
    await before(
      "readAll",
      keys.map(({ pk }) => pk),
    );
    return store.readAll(keys, consistency);
  },
  query: async (query: Query) => {
    await before("query", [query.pk]);
    return store.query(query);
  },
  commit: async (writes: readonly Write[]) => {
    await before(
      "commit",
      writes.map(({ key }) => key.pk),
    );
    return store.commit(writes);
  },
  count: async (write) => {
    await before("count", [write.key.pk]);
    return store.count(write);
  },
});

const counterOf = async (call: TestCall): Promise<bigint> => (await readStoreStatus(call)).changeCounter;

const recordOf = async (call: TestCall) => readStore(await call.store.read(storeKey));

/** A queue of two partitions in two shards, with three messages counted on each, deleted and emptied long enough ago. */
const readyToBury = async (): Promise<DeletedQueue> => {
  const call = table.call();
  let queue: Queue;
  do queue = await declared(call, { partitions: 2 });
  while (tailOf(queue, 0).pk === tailOf(queue, 1).pk);
  for (const partition of [0, 1]) await put(call, queue, ["a", "b", "c"], partition);
  await deleteQueue(call, queue.name, { ifEmpty: false, ifUnused: false });
  const deleted = await findDeleted(call, queue);
  if (deleted === undefined) throw new Error("the queue has no mark");
  table.wait(DELETED_QUEUE_SWEEP_MS);
  return deleted;
};

const tailOf = (queue: Queue, partition: number) => tailKey({ ...queue, partition });

/** Runs the sweep that buries a queue as far as told, a write of the store's or the tails' records at a time. */
const burying = (call: TestCall, queue: DeletedQueue) => {
  let wanted = 0;
  let made = 0;
  let go = (): void => {};
  let rest = (): void => {};
  let stopped = new Promise<void>((resolve) => {
    rest = resolve;
  });
  const store = stepping(call.store, async (what) => {
    if (what !== "commit") return;
    if (made === wanted) {
      rest();
      await new Promise<void>((resolve) => {
        go = resolve;
      });
    }
    made += 1;
  });
  const swept = sweepDeleted({ ...call, store }, queue).then(() => rest());
  return {
    /** After so many writes: sealed, folded, gone. */
    async upTo(writes: number): Promise<void> {
      await stopped;
      while (wanted < writes) {
        stopped = new Promise<void>((resolve) => {
          rest = resolve;
        });
        wanted += 1;
        go();
        await Promise.race([stopped, swept]);
      }
    },
    swept,
  };
};

/** Writes of a bury: seal, fold, delete. */
const WRITES = 3;

describe("the store's counter while a queue is buried", () => {
  it("is the same at every moment, whenever its reader saw the one tail, the other, and the store's record", async () => {
    const call = table.call();
    const moments = Array.from({ length: WRITES + 1 }, (_, i) => i);
    const schedules = moments.flatMap((first) =>
      moments.flatMap((second) => moments.map((last) => [first, second, last] as const)),
    );
    let played = 0;
    for (const [first, second, last] of schedules.filter(([a, b, c]) => a <= b && b <= c)) {
      const queue = await readyToBury();
      const before = await counterOf(call);
      const bury = burying(table.call(), queue);
      const [one, other] = [tailOf(queue, 0).pk, tailOf(queue, 1).pk];
      // The first reading of the record only tells the role.
      let records = 0;
      let isOneRead = (): void => {};
      const oneRead = new Promise<void>((resolve) => {
        isOneRead = resolve;
      });
      const reader = stepping(call.store, async (_, [pk]) => {
        if (pk === other) {
          await oneRead;
          await bury.upTo(second);
        }
        if (pk === storeKey.pk && ++records === 2) await bury.upTo(last);
      });
      const inOrder: Store = {
        ...reader,
        query: async (query) => {
          if (query.pk !== one) return reader.query(query);
          await bury.upTo(first);
          const page = await reader.query(query);
          isOneRead();
          return page;
        },
      };
      const { changeCounter } = await readStoreStatus({ ...call, store: inOrder });
      expect(changeCounter, `${first} ${second} ${last}`).toBe(before);
      expect(await counterOf(call), `after ${first} ${second} ${last}`).toBe(before);
      await bury.upTo(WRITES);
      await bury.swept;
      expect(await findDeleted(call, queue)).toBeUndefined();
      expect(await counterOf(call)).toBe(before);
      played += 1;
    }
    expect(played).toBe(20);
  });

  it("takes in what someone counts late, or refuses it: never one and later the other", async () => {
    const call = table.call();
    for (let at = 0; at <= WRITES; at += 1) {
      const queue = await readyToBury();
      const before = await counterOf(call);
      const bury = burying(table.call(), queue);
      await bury.upTo(at);
      const counted = await call.store.count(countSettled({ ...queue, partition: 1 }, 5, 2));
      expect(counted !== undefined, `after ${at} writes`).toBe(at === 0);
      const expected = before + (at === 0 ? 7n : 0n);
      for (let writes = at; writes <= WRITES; writes += 1) {
        await bury.upTo(writes);
        expect(await counterOf(call), `counted after ${at}, read after ${writes}`).toBe(expected);
      }
      await bury.swept;
    }
  });

  it("goes on after a sweep that was cut off between any two of its calls", async () => {
    const call = table.call();
    let calls = 0;
    let isOver = false;
    for (let stopAt = 0; !isOver; stopAt += 1) {
      const queue = await readyToBury();
      const before = await counterOf(call);
      calls = 0;
      const cut = stepping(call.store, async () => {
        if (calls++ === stopAt) throw new Error("cut off");
      });
      isOver = await sweepDeleted({ ...call, store: cut }, queue).then(
        () => true,
        () => false,
      );
      expect(await counterOf(call), `cut off before call ${stopAt}`).toBe(before);
      await sweepDeleted(table.call(), queue);
      expect(await findDeleted(call, queue)).toBeUndefined();
      expect(await counterOf(call), `after call ${stopAt} and another sweep`).toBe(before);
    }
    expect(calls).toBeGreaterThan(WRITES);
  });

  it("is the same when several sweeps bury several queues at once", async () => {
    const call = table.call();
    const queues: DeletedQueue[] = [];
    for (let i = 0; i < 4; i += 1) queues.push(await readyToBury());
    const before = await counterOf(call);
    await Promise.all([...queues, ...queues].map((queue) => sweepDeleted(table.call(), queue)));
    expect(await counterOf(call)).toBe(before);
    for (const queue of queues) await sweepDeleted(table.call(), queue);
    expect(await counterOf(call)).toBe(before);
    expect(await Promise.all(queues.map((queue) => findDeleted(call, queue)))).toEqual(Array(4).fill(undefined));
  });
});

describe("the names of buried queues", () => {
  it("leave an hour after the tails went, with a later bury", async () => {
    const call = table.call();
    const first = await readyToBury();
    // Folded, and cut off for longer than an hour: the tails still stand, so the name must.
    let commits = 0;
    const cut = stepping(call.store, async (what) => {
      if (what === "commit" && ++commits === WRITES) throw new Error("cut off");
    });
    await expect(sweepDeleted({ ...table.call(), store: cut }, first)).rejects.toThrow("cut off");
    table.wait(FOLDED_MS);
    const second = await readyToBury();
    await sweepDeleted(table.call(), second);
    expect((await recordOf(call)).folded?.has(generationName(first))).toBe(true);
    await sweepDeleted(table.call(), first);
    const third = await readyToBury();
    await sweepDeleted(table.call(), third);
    expect((await recordOf(call)).folded?.has(generationName(first))).toBe(true);
    table.wait(FOLDED_MS);
    const before = await counterOf(call);
    await sweepDeleted(table.call(), await readyToBury());
    const { folded } = await recordOf(call);
    expect([first, second, third].map((queue) => folded?.has(generationName(queue)))).toEqual([false, false, false]);
    expect(await counterOf(call)).toBe(before + 12n);
  });

  it("are no more than 500: a sweep waits for room", async () => {
    const call = table.call();
    const names = Array.from({ length: FOLDED_QUEUES }, (_, i) => [`gone${i}#g`, call.now()] as const);
    const write = { kind: "update", key: storeKey, require: [], otherwise: "reload" } as const;
    await call.store.commit([{ ...write, change: { set: [[["f"], Object.fromEntries(names)]] } }]);
    const queue = await readyToBury();
    const before = await counterOf(call);
    await sweepDeleted(table.call(), queue);
    expect(await findDeleted(call, queue)).toBeDefined();
    expect(await counterOf(call)).toBe(before);
    table.wait(FOLDED_MS);
    await sweepDeleted(table.call(), queue);
    expect(await findDeleted(call, queue)).toBeUndefined();
    expect(await counterOf(call)).toBe(before);
    expect((await recordOf(call)).folded?.size).toBeLessThan(FOLDED_QUEUES);
  });
});

describe("the store's id", () => {
  it("is made once, by the first who needs it", async () => {
    const call = table.call();
    expect((await readStoreStatus(call)).storeId).toBeNull();
    const ids = await Promise.all(Array.from({ length: 8 }, async () => (await storeStatus(table.call())).storeId));
    expect(new Set(ids).size).toBe(1);
    expect(await ensureStoreId(call)).toBe(ids[0]);
    expect((await readStoreStatus(call)).storeId).toBe(ids[0]);
  });
});

describe("a store in a cluster", () => {
  const configuration: Configuration = {
    clusterId: "c",
    configChange: 5n,
    configId: "i",
    changeCounter: 10n,
    role: "replica",
    members: [{ storeId: "s", table: "t", role: "primary", state: "in-sync" }],
    replicaTimeoutSeconds: 60,
  };

  it("shows its configuration; a replica counts what it has applied, whatever its tails say", async () => {
    const call = table.call();
    await declared(call);
    const alone = await readStoreStatus(call);
    expect(alone).toMatchObject({ clusterId: null, configChange: null, role: "primary", state: "dirty", members: [] });
    await call.store.commit([setConfiguration(null, configuration)]);
    const put = (shard: string, n: number): Write => ({
      kind: "put",
      key: changesKey(shard),
      item: { n },
      require: [],
      otherwise: "reload",
    });
    await call.store.commit([put("00", 7), put("15", 8)]);
    const { storeId: _, readAt: __, ...replica } = await readStoreStatus(call);
    expect(replica).toEqual({
      clusterId: "c",
      changeCounter: 15n,
      configChange: 5n,
      configId: "i",
      changeCounterAtConfigChange: 10n,
      role: "replica",
      state: "dirty",
      shutdownId: null,
      changeCounterAtShutdown: null,
      members: configuration.members,
    });
  });

  it("is clean until its counter moves, and shows the shutdown then too", async () => {
    const call = table.call();
    await call.store.commit([setShutdown(configuration, { shutdownId: "S", changeCounter: 15n })]);
    expect(await readStoreStatus(call)).toMatchObject({
      state: "clean",
      shutdownId: "S",
      changeCounterAtShutdown: 15n,
    });
    const write = { kind: "update", key: changesKey("00"), require: [], otherwise: "reload" } as const;
    await call.store.commit([{ ...write, change: { add: [[["n"], 1]] } }]);
    expect(await readStoreStatus(call)).toMatchObject({
      state: "dirty",
      shutdownId: "S",
      changeCounterAtShutdown: 15n,
    });
  });

  it("that is promoted while it is read is read again", async () => {
    const call = table.call();
    let records = 0;
    const store = stepping(call.store, async (_, [pk]) => {
      if (pk !== storeKey.pk || ++records !== 2) return;
      await call.store.commit([
        setConfiguration(configuration, { ...configuration, configChange: 6n, role: "primary" }),
      ]);
    });
    const read = await readStoreStatus({ ...call, store });
    expect(read).toMatchObject({ role: "primary", configChange: 6n });
    expect(read.changeCounter).toBe(await counterOf(call));
    expect(records).toBe(3);
  });
});
