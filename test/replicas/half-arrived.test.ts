/** A commit of which a replica has any part is whole after the promotion, and one of which it has no part never was. */
import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, expect, it } from "vitest";
import { applyImages } from "../../shared/commands/replica/apply.ts";
import { pagesOf } from "../../shared/commands/replica/copy.ts";
import { promote } from "../../shared/commands/replica/promote.ts";
import type { Item } from "../../shared/records/write.ts";
import type { DynamoStore } from "../../shared/store/dynamodb.ts";
import { Chance } from "../history/random.ts";
import type { Client } from "../support/client.ts";
import { type Replica, type Started, useCluster } from "../support/cluster.ts";
import type { InProcess } from "../support/in-process.ts";
import {
  acceptAll,
  begin,
  endAndPrepare,
  expectOk,
  expectXa,
  newQueue,
  newSession,
  swap,
  take,
} from "../support/moves.ts";
import { newXid, unique } from "../support/names.ts";
import { Died, dyingStore } from "./dying-store.ts";
import { type Happening, partsOf, promotedWith, textOf } from "./half.ts";
import { MemoryStore } from "./memory-store.ts";

const { service, cluster } = useCluster();

let started: Started;
let replica: Replica;
let process: InProcess;
let fed: Item[] = [];

beforeAll(async () => {
  started = await cluster(1);
  replica = started.replicas[0] as Replica;
  process = await service.process("half");
  replica.start();
  await started.join(replica);
  await replica.stop();
});

/** Feeds until the work is done, and all of what it wrote has come. */
const whileFed = async <T>(work: () => Promise<T>): Promise<T> => {
  let isOver = false;
  const step = async () => {
    const images = await replica.images();
    fed.push(...images);
    await applyImages(replica.store, images);
    return images.length;
  };
  const feeding = (async () => {
    while (!isOver) {
      await step();
      await sleep(5);
    }
  })();
  const done = await work().finally(() => {
    isOver = true;
  });
  await feeding;
  while ((await step()) > 0);
  return done;
};

const recordsOf = async (store: DynamoStore): Promise<readonly Item[]> => {
  const all: Item[] = [];
  for await (const items of pagesOf(store)) all.push(...items);
  return all;
};

/** Prepares what it rests on; what it gives then does what is looked at. */
type Work = (c: Client) => Promise<() => Promise<unknown>>;

/** What the work does, when everything that it rests on has come before. */
const happening = async (work: Work, kept = 0): Promise<Happening> => {
  const act = await whileFed(() => work(process.client));
  const before = await recordsOf(replica.store);
  fed = [];
  await whileFed(act);
  return { before, images: fed, after: await recordsOf(started.primary), kept };
};

const twoQueues = async (c: Client) =>
  [await newQueue(c, ["one", "two", "three"]), await newQueue(c, [], { maxMessages: 9 })] as const;

/** A branch in which a message is swapped and a large one is enqueued. */
const swapped = async (c: Client) => {
  const [a, b] = await twoQueues(c);
  const session = await newSession(c);
  const xid = newXid();
  const inside = await begin(session, xid);
  await swap(inside, a, b);
  expectOk(await inside.enqueue(a, [{ body: "x".repeat(20_000) }]), 201);
  return { session, xid };
};

const besides = "a dead letter from beside what a branch takes";

const works: Readonly<Record<string, Work>> = {
  "a commit of one phase": async (c) => {
    const { session, xid } = await swapped(c);
    expectXa(await session.end(xid), "XA_OK");
    return async () => expectXa(await c.commit(xid, { onePhase: true }), "XA_OK");
  },
  "a prepare and a commit": async (c) => {
    const { session, xid } = await swapped(c);
    return async () => {
      await endAndPrepare(session, xid);
      expectXa(await c.commit(xid), "XA_OK");
    };
  },
  "a prepare and a rollback": async (c) => {
    const { session, xid } = await swapped(c);
    return async () => {
      await endAndPrepare(session, xid);
      expectXa(await c.rollback(xid), "XA_OK");
    };
  },
  "a dead letter": async (c) => {
    const letters = await newQueue(c);
    const queue = await newQueue(c, ["one", "x".repeat(20_000)], { deadLetterQueue: letters });
    const taken = await take(c, queue, 2, 300);
    return async () => expectOk(await c.reject(taken.map(({ deliveryId }) => deliveryId)));
  },
  "a queue that is declared": async (c) => async () =>
    expectOk(await c.declare(unique(), { maxMessages: 5, partitions: 3 }), 201),
  "a queue that is deleted and declared again": async (c) => {
    const queue = await newQueue(c, ["one", "two"], { maxMessages: 9 });
    return async () => {
      await c.deleteQueue(queue);
      expectOk(await c.declare(queue, { partitions: 2 }), 201);
    };
  },
  "a publish to three queues": async (c) => {
    const exchange = unique("fan");
    expectOk(await c.declareExchange(exchange, { type: "fanout" }), 201);
    for (let i = 0; i < 3; i++) {
      const queue = await newQueue(c, [], i === 0 ? { maxMessages: 9 } : {});
      expectOk(await c.bind(exchange, { queue, bindingKey: "" }), 201);
    }
    return async () => expectOk(await c.publish(exchange, [{ body: "one" }, { body: "two" }]), 201);
  },
  "an enqueue under a key": async (c) => {
    const queue = await newQueue(c);
    const messages = [{ body: "one", deduplicationId: "d" }, { body: "x".repeat(20_000) }];
    return async () => expectOk(await c.enqueue(queue, messages, { "idempotency-key": unique("key") }), 201);
  },
  "a command and its completion": async (c) => {
    const queue = await newQueue(c);
    const session = await newSession(c);
    return async () => {
      await session.later.enqueue(queue, [{ body: "one" }]);
      await process.runWorker();
      await session.completions(session.context.session ?? "");
    };
  },
  "an accept, a release and an accept of what is left": async (c) => {
    const queue = await newQueue(c, ["one", "two", "three"]);
    const taken = await take(c, queue, 3, 300);
    return async () => {
      await acceptAll(c, taken.slice(0, 1));
      await c.release(taken.slice(1).map(({ deliveryId }) => deliveryId));
      await acceptAll(c, await take(c, queue, 3, 300));
    };
  },
  "two branches on the same queues": async (c) => {
    const [a, b] = await twoQueues(c);
    const session = await newSession(c);
    return async () => {
      for (let i = 0; i < 2; i++) {
        const xid = newXid();
        await swap(await begin(session, xid), a, b);
        expectXa(await session.end(xid), "XA_OK");
        expectXa(await c.commit(xid, { onePhase: true }), "XA_OK");
      }
    };
  },
  "a branch, and a purge of what it brought": async (c) => {
    const [a, b] = await twoQueues(c);
    const session = await newSession(c);
    const xid = newXid();
    await swap(await begin(session, xid), a, b);
    expectXa(await session.end(xid), "XA_OK");
    return async () => {
      expectXa(await c.commit(xid, { onePhase: true }), "XA_OK");
      expectOk(await c.purge(b));
    };
  },
  [besides]: async (c) => {
    const letters = await newQueue(c);
    const queue = await newQueue(c, ["one", "two"], { deadLetterQueue: letters });
    const session = await newSession(c);
    const xid = newXid();
    const inside = await begin(session, xid);
    const [one, two] = await take(inside, queue, 2, 300);
    if (one === undefined || two === undefined) throw new Error("two messages were enqueued");
    await acceptAll(inside, [one]);
    await endAndPrepare(session, xid);
    return async () => {
      expectOk(await c.reject([two.deliveryId]));
      expectXa(await c.commit(xid), "XA_OK");
    };
  },
};

const seed = Number(globalThis.process.env.SEED ?? 1);

it.each(Object.keys(works))(
  "%s: whole or not at all, with any part of its images",
  async (name) => {
    const work = works[name];
    if (work === undefined) throw new Error("there is no such work");
    const what = await happening(work);
    const parts = partsOf(what, new Chance(seed));
    expect(parts.length).toBeGreaterThan(1);
    for (const part of parts) {
      const arrived = part.images.map(({ pk, sk, rv }) => `${pk} ${sk} ${rv}`);
      expect({ wrongs: await promotedWith(what, part), arrived }).toEqual({ wrongs: [], arrived });
    }
  },
  90_000,
);

it("a promotion that dies at any of its calls is finished by the next one", async () => {
  const work = works["two branches on the same queues"];
  if (work === undefined) throw new Error("there is no such work");
  const what = await happening(work);
  const chance = new Chance(seed);
  const half = partsOf(what, chance).filter(({ isAll }) => !isAll);
  const part = half[Math.floor(half.length / 2)];
  const fedStore = new MemoryStore(what.before);
  await applyImages(fedStore, part?.images ?? []);
  const undisturbed = new MemoryStore(fedStore.items);
  let calls = 0;
  const counting = dyingStore(undisturbed, () => {
    calls += 1;
    return "lives";
  });
  await promote({ store: counting, now: Date.now }, { table: "t" });
  expect(calls).toBeGreaterThan(25);
  // To die before a call is to die after the one before it.
  for (let at = 0; at < calls; at++) {
    const store = new MemoryStore(fedStore.items);
    const dying = dyingStore(store, (call) => (call === at ? "dies after" : "lives"));
    await expect(promote({ store: dying, now: Date.now }, { table: "t" })).rejects.toThrow(Died);
    await promote({ store, now: Date.now }, { table: "t" });
    expect(shown(store)).toEqual(shown(undisturbed));
    const again = await promote({ store, now: Date.now }, { table: "t" });
    expect(again.wasPrimary).toBe(true);
  }
}, 90_000);

/** Without what is made up anew each time. */
const shown = (store: MemoryStore): readonly string[] => store.items.map(({ ci, ...item }) => textOf(item));
