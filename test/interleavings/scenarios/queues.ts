/** What happens to a whole queue, and what is at work on it. */
import { begin, expectOk } from "../../support/moves.ts";
import { newXid, unique } from "../../support/names.ts";
import type { QueueSettings } from "../../support/shapes.ts";
import type { Act, Allowed, Outcome, Scenario, Scene, Stage } from "../scenario.ts";
import { attached, inDoubt, lookOf, messages, queueWith, type Swapped, type SwapSettings, swapped } from "../scenes.ts";

const limited: SwapSettings = { queues: { maxMessages: 4 } };

export const purges: readonly Scenario[] = [
  {
    name: "purge / prepare, of the queue that is taken from",
    async setUp(stage) {
      const scene = await swapped(stage, limited);
      return {
        look: { ...lookOf(scene), isLimited: true },
        operations: { purge: [(at) => at.purge(scene.a)], prepare: [(at) => at.prepare(scene.x)] },
      };
    },
  },
  {
    name: "purge / prepare, of the full queue that is published to",
    async setUp(stage) {
      const scene = await swapped(stage, { queues: { maxMessages: 1 }, ofA: { maxMessages: 4 } });
      return {
        look: { ...lookOf(scene), isLimited: true },
        operations: { purge: [(at) => at.purge(scene.b)], prepare: [(at) => at.prepare(scene.x)] },
      };
    },
  },
  {
    name: "purge / rollback",
    async setUp(stage) {
      const scene = await inDoubt(stage, limited);
      return {
        look: { ...lookOf(scene), isLimited: true },
        operations: { purge: [(at) => at.purge(scene.a)], rollback: [(at) => at.rollback(scene.x)] },
      };
    },
  },
  {
    name: "purge / commit",
    async setUp(stage) {
      const scene = await inDoubt(stage, limited);
      return {
        look: { ...lookOf(scene), isLimited: true },
        operations: { purge: [(at) => at.purge(scene.b)], commit: [(at) => at.commit(scene.x)] },
      };
    },
  },
  {
    name: "purge / acquire",
    async setUp(stage) {
      const a = await queueWith(stage, ["a1", "a2"]);
      return {
        look: { queues: { a } },
        operations: { purge: [(at) => at.purge(a)], acquire: [(at) => at.acquire(a)] },
      };
    },
  },
];

/** An outcome, whatever the order of what came to the dead-letter queue. */
const withoutDeadOrder = ({ told, seen: { counters: _, drained, ...seen } }: Outcome): string =>
  JSON.stringify({ told, seen, drained: drained.map((all) => ({ ...all, d: (all.d ?? []).toSorted() })) });

const deadInAnyOrder: Allowed = {
  because: "the sweep and the branch put dead letters on one queue at the same time: either may be first",
  allows: (outcome, serial) => serial.some((one) => withoutDeadOrder(one) === withoutDeadOrder(outcome)),
};

/** A branch that swaps from a to b, one of which is deleted while the branch is brought to its end. */
const deleting = (
  name: string,
  which: "a" | "b",
  make: (stage: Stage, settings: SwapSettings) => Promise<Swapped>,
  end: (scene: Swapped) => Scene["operations"],
  more: QueueSettings = {},
): Scenario => ({
  name,
  also: [deadInAnyOrder],
  async setUp(stage) {
    const d = await queueWith(stage);
    const scene = await make(stage, { queues: { deadLetterQueue: d, ...more } });
    const { a, b, x } = scene;
    return {
      look: { queues: { a, b, d }, branches: { x }, isSwept: true },
      operations: { delete: [(at) => at.deleteQueue(scene[which])], ...end(scene) },
    };
  },
});

const commit = ({ x }: Swapped) => ({ commit: [(at) => at.commit(x)] as const satisfies readonly Act[] });
const onePhase = ({ x }: Swapped): Scene["operations"] => ({ commit: [(at) => at.commit(x, { onePhase: true })] });
const rollback = ({ x }: Swapped): Scene["operations"] => ({ rollback: [(at) => at.rollback(x)] });
const prepare = ({ x }: Swapped): Scene["operations"] => ({ prepare: [(at) => at.prepare(x)] });

const deletionsUnderBranches: readonly Scenario[] = [
  deleting("delete queue / commit, of the queue that is published to", "b", inDoubt, commit),
  deleting("delete queue / commit, of the queue that is taken from", "a", inDoubt, commit),
  deleting("delete queue / commit, of a limited queue that is published to", "b", inDoubt, commit, { maxMessages: 4 }),
  deleting("delete queue / one-phase commit, of the queue that is published to", "b", swapped, onePhase),
  deleting("delete queue / one-phase commit, of a limited queue", "b", swapped, onePhase, { maxMessages: 4 }),
  deleting("delete queue / rollback, of the queue that is taken from", "a", inDoubt, rollback),
  deleting("delete queue / rollback, of the queue that is published to", "b", inDoubt, rollback),
  deleting("delete queue / prepare, of a limited queue that is published to", "b", swapped, prepare, {
    maxMessages: 4,
  }),
];

/** A queue whose name may be deleted and declared, and its dead-letter queue. */
const onQueue = (
  name: string,
  operations: (scene: { a: string; d: string; settings: QueueSettings; ids: readonly string[] }) => Scene["operations"],
  more: QueueSettings = {},
): Scenario => ({
  name,
  async setUp(stage) {
    const d = await queueWith(stage);
    const settings = { deadLetterQueue: d, ...more };
    const a = await queueWith(stage, ["a1", "a2"], settings);
    const { deliveries } = expectOk(await stage.client.acquire(a, { leaseSeconds: 300 }));
    const ids = deliveries.map(({ deliveryId }) => deliveryId);
    return { look: { queues: { a, d }, isSwept: true }, operations: operations({ a, d, settings, ids }) };
  },
});

const remove =
  (queue: string): Act =>
  (at) =>
    at.deleteQueue(queue);

const deletions: readonly Scenario[] = [
  onQueue("delete queue / enqueue", ({ a }) => ({
    delete: [remove(a)],
    enqueue: [(at) => at.enqueue(a, messages("a3"))],
  })),
  onQueue(
    "delete queue / enqueue, of a limited queue",
    ({ a }) => ({ delete: [remove(a)], enqueue: [(at) => at.enqueue(a, messages("a3"))] }),
    { maxMessages: 3 },
  ),
  {
    name: "delete queue / enqueue, by one who has not met the queue",
    async setUp(stage) {
      const d = await queueWith(stage);
      const a = unique();
      expectOk(await stage.client.declare(a, { deadLetterQueue: d }), 201);
      return {
        look: { queues: { a, d }, isSwept: true },
        operations: { delete: [remove(a)], enqueue: [(at) => at.enqueue(a, messages("a1"))] },
      };
    },
  },
  onQueue("delete queue / accept", ({ a, ids }) => ({ delete: [remove(a)], accept: [(at) => at.accept(ids)] })),
  onQueue("delete queue / release", ({ a, ids }) => ({ delete: [remove(a)], release: [(at) => at.release(ids)] })),
  onQueue("delete queue / acquire", ({ a }) => ({ delete: [remove(a)], acquire: [(at) => at.acquire(a)] })),
  onQueue("delete queue / delete queue", ({ a }) => ({ delete: [remove(a)], again: [remove(a)] })),
  onQueue("delete queue / declare", ({ a, settings }) => ({
    delete: [remove(a)],
    declare: [(at) => at.declare(a, settings)],
  })),
  {
    name: "declare / declare with other settings",
    async setUp() {
      const a = unique();
      return {
        look: { queues: { a } },
        operations: {
          declare: [(at) => at.declare(a, { maxDeliveries: 1 })],
          other: [(at) => at.declare(a, { maxDeliveries: 2 })],
        },
      };
    },
  },
  {
    name: "delete queue / accept in branch",
    async setUp(stage) {
      const d = await queueWith(stage);
      const a = await queueWith(stage, ["a1", "a2"], { deadLetterQueue: d });
      const inSession = await attached(stage);
      const x = newXid();
      const worker = await begin(stage.client.with(inSession), x, 3600);
      const { deliveries } = expectOk(await worker.acquire(a, { leaseSeconds: 300 }));
      const ids = deliveries.map(({ deliveryId }) => deliveryId);
      return {
        look: { queues: { a, d }, branches: { x }, isSwept: true },
        operations: {
          delete: [remove(a)],
          accept: [(at) => at.with({ ...inSession, xid: x }).accept(ids)],
        },
      };
    },
  },
];

/** These look at what the schedule makes of them: on a table of their own, so that it has little to look through. */
export const deleted: readonly Scenario[] = [...deletionsUnderBranches, ...deletions];
