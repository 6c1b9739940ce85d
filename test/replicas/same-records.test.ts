/** A load with a fed replica, and then: the replica has each record that the primary has, and has counted the same. */
import { expect, it } from "vitest";
import { pagesOf } from "../../shared/commands/replica/copy.ts";
import type { Item } from "../../shared/records/write.ts";
import type { DynamoStore } from "../../shared/store/dynamodb.ts";
import { declareAll } from "../history/broker.ts";
import { type Caller, consume, manage, managers, operate, produce, resolve } from "../history/callers.ts";
import { declare } from "../history/calls.ts";
import { Chance } from "../history/random.ts";
import { send, senders } from "../history/senders.ts";
import { useCluster } from "../support/cluster.ts";
import { eventually } from "../support/poll.ts";
import { textOf } from "./half.ts";
import { declareAndDelete, heavy, keep, PatientRecorder } from "./keepers.ts";
import { WildFeed } from "./wild-feed.ts";

const seed = Number(process.env.SEED ?? 1);
const LOAD_MS = 6_000;

const { service, cluster } = useCluster();

it("a replica that was fed all of a load holds the primary's records, and has counted its changes", async () => {
  process.stdout.write(`same records, SEED=${seed}\n`);
  const { primary, replicas, join, status } = await cluster(1);
  const [replica] = replicas;
  if (replica === undefined) throw new Error("there is no replica");
  const feed = new WildFeed(replica, new Chance(seed));
  feed.start();
  await join(replica, 60);
  const served = await service.process("same records");
  const to = new PatientRecorder((path, request) => served.fetch(path, request));
  await declareAll(to);
  await declare(to, "the beginning", heavy, {}, 2);
  let isOver = false;
  const caller = (who: string, i: number): Caller => ({
    who,
    to,
    chance: new Chance(seed * 1_000 + i),
    isOver: () => isOver,
  });
  const until = async (run: () => Promise<void>) => {
    while (!isOver) {
      await run();
      await new Promise((resolve) => setTimeout(resolve, 300));
    }
  };
  const work = Promise.all([
    produce(caller("producer", 1)),
    consume(caller("consumer", 2)),
    ...managers.slice(0, 2).map((name, i) => manage(caller(name, 10 + i), name)),
    ...senders.map((name, i) => send(caller(name, 20 + i), name)),
    keep(caller("keeper", 30)),
    declareAndDelete(caller("admin", 40), new Map()),
    operate(caller("operator", 50)),
    resolve(caller("resolver", 51)),
    until(() => served.runWorker()),
    until(() => served.runSchedule()),
  ]);
  await new Promise((resolve) => setTimeout(resolve, LOAD_MS));
  isOver = true;
  await work;
  await eventually(async () => expect(await recordsOf(replica.store)).toEqual(await recordsOf(primary)), {
    withinMs: 20_000,
    everyMs: 500,
  });
  expect(await feed.goOn()).toBe(true);
  await feed.cut();
  const [its, own] = [await status(replica.store), await status(primary)];
  expect(its.configId).toBe(own.configId);
  expect(own.changeCounter).toBeGreaterThan(20n);
  // Attempts that lost a race are counted at the primary, and were never changes.
  expect(its.changeCounter).toBeLessThanOrEqual(own.changeCounter);
  process.stdout.write(`changes: ${own.changeCounter} at the primary, ${its.changeCounter} at the replica\n`);
}, 120_000);

/** Without what each store keeps for itself, and without the journals, of which the replica notes more. */
const recordsOf = async (store: DynamoStore): Promise<readonly string[]> => {
  const all: Item[] = [];
  for await (const items of pagesOf(store)) all.push(...items);
  return all
    .filter(({ pk }) => !/^(STORE$|REPLICA#|STONES#|STONE#)/.test(String(pk)))
    .map(({ ex, ...item }) => textOf(item))
    .toSorted();
};
