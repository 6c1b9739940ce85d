/** Replicas that stay away, come back, and are promoted behind the primary's back. */
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { pagesOf } from "../../shared/commands/replica/copy.ts";
import { join } from "../../shared/commands/replica/join.ts";
import { rejoinAll } from "../../shared/commands/replica/rejoin.ts";
import { identify } from "../../shared/domain/store-status.ts";
import { fenceShard } from "../../shared/records/fence.ts";
import { shards } from "../../shared/records/keys.ts";
import { setJoining } from "../../shared/records/store.ts";
import type { Item, Write } from "../../shared/records/write.ts";
import type { DynamoStore } from "../../shared/store/dynamodb.ts";
import type { Client } from "../support/client.ts";
import { type Replica, type Started, useCluster } from "../support/cluster.ts";
import type { InProcess } from "../support/in-process.ts";
import { bodiesOf, consume, enqueueBodies, expectOk, expectRefused, newQueue, newSession } from "../support/moves.ts";
import { newXid, unique } from "../support/names.ts";
import { textOf } from "./half.ts";

const { service, cluster } = useCluster();

interface Scene extends Started {
  readonly client: Client;
  readonly process: InProcess;
  readonly one: Replica;
  readonly other: Replica;
}

/** A primary whose two replicas are fed and in sync; one that keeps a command waiting is given up after a second. */
const scene = async (name: string): Promise<Scene> => {
  const started = await cluster(2);
  const [one, other] = started.replicas as readonly [Replica, Replica];
  for (const replica of started.replicas) {
    replica.start();
    await started.join(replica, 10);
  }
  const process = await service.process(name);
  return { ...started, client: process.client, process, one, other };
};

/** The least of times, for what stays away for good. */
const impatient = async ({ join, one }: Scene): Promise<void> => {
  await join(one, 1);
};

const choice = async ({ status }: Started, ...stores: readonly DynamoStore[]) => {
  const statuses = await Promise.all(stores.map(status));
  return identify(statuses.map((each, i) => ({ name: String(i), status: each })));
};

const recordsOf = async (store: DynamoStore): Promise<readonly string[]> => {
  const all: Item[] = [];
  for await (const items of pagesOf(store)) all.push(...items);
  return all.filter(isOfPrimary).map(textOf).toSorted();
};

const isOfPrimary = ({ pk }: Item): boolean => !/^(STORE$|REPLICA#|STONE#|STONES#|JOURNAL#|PULSE)/.test(String(pk));

/** Until the replica holds what the primary holds. */
const untilSame = async (primary: DynamoStore, { store }: Replica): Promise<void> => {
  for (let i = 0; i < 40; i++) {
    if (JSON.stringify(await recordsOf(store)) === JSON.stringify(await recordsOf(primary))) return;
    await sleep(100);
  }
  expect(await recordsOf(store)).toEqual(await recordsOf(primary));
};

it("one that stays away is given up, loses, catches up without what was deleted meanwhile, and is in again", async () => {
  const it = await scene("given up");
  const { client, primary, one, other, status } = it;
  const [kept, deleted] = [await newQueue(client, ["one", "two"]), await newQueue(client, ["gone"])];
  await impatient(it);
  const before = await status(primary);

  await one.stop();
  await enqueueBodies(client, kept, ["three", "x".repeat(20_000)]);
  const away = await status(primary);
  expect(away.configChange).toBe((before.configChange ?? 0n) + 1n);
  expect(await status(other.store)).toMatchObject({ configChange: away.configChange, configId: away.configId });
  expect((await status(one.store)).configChange).toBe(before.configChange);
  for (const better of [primary, other.store]) {
    expect(await choice(it, one.store, better)).toMatchObject({ outcome: "best", best: "1" });
  }
  await consume(client, kept, 2);
  await client.deleteQueue(deleted);
  await service.process("given up").then((process) => process.runSchedule());

  one.start();
  const joined = await it.join(one, 10);
  expect(joined.configChange).toBe((away.configChange ?? 0n) + 1n);
  await untilSame(primary, one);
  await untilSame(primary, other);
  await enqueueBodies(client, kept, ["four"]);
  const [after, its] = [await status(primary), await status(one.store)];
  expect(its).toMatchObject({ configId: after.configId, changeCounter: after.changeCounter });
  expect(await choice(it, one.store, other.store)).toMatchObject({ outcome: "equal", equal: ["0", "1"] });
}, 60_000);

it("all that were given up join again by the schedule, as soon as they can be reached", async () => {
  const it = await scene("rejoin");
  const { client, primary, one, other, status } = it;
  const queue = await newQueue(client, ["one"]);
  const context = { store: primary, now: Date.now };
  for (const { store } of [one, other]) await it.giveUp((await status(store)).storeId ?? "");
  const alone = await status(primary);
  for (const { store } of [one, other]) {
    expect(await choice(it, store, primary)).toMatchObject({ outcome: "best", best: "1" });
  }
  await one.stop();
  await enqueueBodies(client, queue, ["two"]);
  const places = (place: { table: string }) => {
    if (place.table === other.table) throw Object.assign(new Error("out of reach"), { name: "Unavailable" });
    return it.open(place);
  };
  one.start();
  const rejoined = await rejoinAll(context, places as typeof it.open);
  expect(rejoined.map(({ problem }) => problem).toSorted()).toEqual(["out of reach", undefined]);
  expect((await status(primary)).configChange).toBe((alone.configChange ?? 0n) + 1n);
  expect((await rejoinAll(context, it.open)).map(({ problem }) => problem)).toEqual([undefined]);
  await untilSame(primary, one);
  await untilSame(primary, other);
  const statuses = await Promise.all([primary, one.store, other.store].map(status));
  expect(new Set(statuses.map(({ configId }) => configId)).size).toBe(1);
  expect(new Set(statuses.map(({ changeCounter }) => changeCounter)).size).toBe(1);
}, 60_000);

it("without both the primary goes on; one that is promoted beside it cannot be compared with it", async () => {
  const it = await scene("alone");
  const { client, primary, one, other, status } = it;
  const queue = await newQueue(client, ["one"]);
  await impatient(it);
  await Promise.all([one.stop(), other.stop()]);
  await enqueueBodies(client, queue, ["two"]);
  expect(await bodiesOf(client, queue)).toEqual(["one", "two"]);
  const { configChange, members } = await status(primary);
  expect(members.filter(({ state }) => state === "away")).toHaveLength(2);
  expect(await choice(it, one.store, other.store, primary)).toMatchObject({ outcome: "best", best: "2" });

  // The primary may have given up both at once: then the two made the same change, each alone.
  const { configChange: promoted } = await it.promote(one);
  const found = await choice(it, one.store, primary);
  if (promoted === configChange) expect(found).toMatchObject({ outcome: "not-comparable", because: "split" });
  else expect(found).toMatchObject({ outcome: "best", best: "1" });
  await expect(it.join(other, 1)).rejects.toThrow("its feed does not run");
}, 60_000);

it("an old replica that is promoted beside a primary that gave it up is refused, and cannot join again", async () => {
  const it = await scene("split");
  const { primary, one, status } = it;
  await it.giveUp((await status(one.store)).storeId ?? "");
  await it.promote(one);
  expect(await choice(it, one.store, primary)).toMatchObject({ outcome: "not-comparable", because: "split" });
  await expect(it.join(one, 10)).rejects.toThrow("the store went on by itself");
}, 60_000);

it("a primary whose replica was promoted refuses to change anything, and completes nothing", async () => {
  const it = await scene("deposed");
  const { client, primary, one, other, status } = it;
  const queue = await newQueue(client, ["one"]);
  const session = await newSession(client);
  await impatient(it);
  await it.promote(one);
  const before = await status(primary);
  expectRefused(await client.enqueue(queue, [{ body: "two" }]), "unavailable");
  expectRefused(await client.acquire(queue), "unavailable");
  expectRefused(await session.start(newXid()), "unavailable");
  expectRefused(await client.declare(unique()), "unavailable");
  expect(await status(primary)).toMatchObject({ configChange: before.configChange, role: "primary" });
  expect(await choice(it, one.store, other.store, primary)).toMatchObject({ outcome: "best", best: "0" });

  const after = await service.process("after it was deposed");
  await after.restart(one.table);
  expect(await bodiesOf(after.client, queue)).toEqual(["one"]);
  await enqueueBodies(after.client, queue, ["three"]);
  expect(await bodiesOf(after.client, queue)).toEqual(["one", "three"]);
}, 60_000);

it("one that joins under load counts from then on as the primary does", async () => {
  const { replicas, join, primary, status } = await cluster(1);
  const [one] = replicas as readonly [Replica];
  const process = await service.process("under load");
  await process.restart(service.tableName);
  const queue = await newQueue(process.client, ["one"]);
  one.start();
  let isOver = false;
  const callers = Array.from({ length: 3 }, async () => {
    for (let count = 0; ; count++) {
      if (isOver) return count;
      await enqueueBodies(process.client, queue, ["more"]);
    }
  });
  await sleep(300);
  await join(one);
  isOver = true;
  expect((await Promise.all(callers)).every((count) => count > 1)).toBe(true);
  await untilSame(primary, one);
  expect((await status(one.store)).changeCounter).toBe((await status(primary)).changeCounter);
}, 60_000);

it("one that is in stays in while it joins again, and one that comes back loses until it is in", async () => {
  const it = await scene("again");
  const { primary, one, other, status, open, table } = it;
  await one.stop();
  await expect(it.join(one, 1)).rejects.toThrow("its feed does not run");
  expect((await status(primary)).members.map(({ state }) => state)).toEqual(["in-sync", "in-sync", "in-sync"]);

  await it.giveUp((await status(one.store)).storeId ?? "");
  one.start();
  const { configId } = await status(one.store);
  // The change by which it would be in is the last commit.
  const stopped = new Proxy(primary, {
    get: (store, name) => {
      if (name === "commit") {
        return async (writes: readonly Write[]) => {
          if ((await status(one.store)).configId !== configId) throw new Error("stopped");
          return store.commit(writes);
        };
      }
      const value: unknown = Reflect.get(store, name);
      return typeof value === "function" ? value.bind(store) : value;
    },
  });
  const joining = join({ store: stopped, now: Date.now }, open, { primary: { table }, replica: { table: one.table } });
  await expect(joining).rejects.toThrow("stopped");
  expect(await choice(it, one.store, other.store)).toMatchObject({ outcome: "best", best: "1" });
  await it.join(one, 10);
  expect((await status(one.store)).configChange).toBe((await status(primary)).configChange);
}, 60_000);

it("one whose joining was cut off is not promoted by mistake", async () => {
  const it = await scene("cut off");
  const { one } = it;
  await one.store.commit([setJoining()]);
  await expect(it.promote(one)).rejects.toThrow("its joining was cut off");
  await it.join(one, 10);
  expect((await it.promote(one)).role).toBe("primary");
}, 60_000);

it("while its replica is being promoted, a primary does not go on alone", async () => {
  const it = await scene("deposing");
  const { client, primary, one, status } = it;
  const queue = await newQueue(client, ["one"]);
  await impatient(it);
  await one.stop();
  for (const shard of shards) await one.store.commit([fenceShard(shard)]);
  const before = await status(primary);
  expectRefused(await client.enqueue(queue, [{ body: "two" }]), "unavailable");
  expect(await status(primary)).toMatchObject({ configChange: before.configChange });
}, 60_000);

it("a replica takes no calls that change anything, and nothing of them is written", async () => {
  const it = await scene("unheard");
  const { client, one } = it;
  const queue = await newQueue(client, ["one", "two"]);
  const session = await newSession(client);
  await untilSame(it.primary, one);
  await one.stop();
  const before = await recordsOf(one.store);
  const served = await service.process("of a replica");
  await served.restart(one.table);
  const inSession = served.client.with(session.context);
  expectRefused(await served.client.enqueue(queue, [{ body: "x".repeat(20_000) }]), "unavailable");
  expectRefused(await served.client.acquire(queue), "unavailable");
  expectRefused(await served.client.purge(queue), "unavailable");
  expectRefused(await served.client.deleteQueue(queue), "unavailable");
  expectRefused(await served.client.declare(unique()), "unavailable");
  expectRefused(await served.client.declareExchange(unique(), { type: "fanout" }), "unavailable");
  expectRefused(await served.client.attach(unique()), "unavailable");
  expectRefused(await inSession.start(newXid()), "unavailable");
  expectRefused(await inSession.later.enqueue(queue, [{ body: "later" }]), "unavailable");
  expect(await recordsOf(one.store)).toEqual(before);
  expect((await expectOkStatus(served.client)).role).toBe("replica");
}, 60_000);

const expectOkStatus = async (c: Client) => expectOk(await c.storeStatus());
