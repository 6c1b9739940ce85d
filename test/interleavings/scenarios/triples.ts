/** Three at a time: more orders than anyone waits for, so they are run by chance. */
import { acceptAll, begin, expectOk, take } from "../../support/moves.ts";
import { newXid } from "../../support/names.ts";
import type { Act, Scenario } from "../scenario.ts";
import { attached, inDoubt, lookOf, messages, PAST_10_S, queueWith, swapped } from "../scenes.ts";

const timePasses: Act = { passMs: PAST_10_S };
const recovery: Act = (at) => at.recovery();

export const triples: readonly Scenario[] = [
  {
    name: "commit / rollback / recovery",
    async setUp(stage) {
      const scene = await inDoubt(stage);
      return {
        look: lookOf(scene),
        operations: {
          commit: [(at) => at.commit(scene.x)],
          rollback: [(at) => at.rollback(scene.x)],
          recovery: [recovery],
        },
      };
    },
  },
  {
    name: "acquire / release / accept in branch",
    async setUp(stage) {
      const [a, inSession] = await Promise.all([queueWith(stage, ["a1", "a2"]), attached(stage)]);
      const x = newXid();
      await begin(stage.client.with(inSession), x, 3600);
      const { deliveries } = expectOk(await stage.client.acquire(a, { leaseSeconds: 30 }));
      const ids = deliveries.map(({ deliveryId }) => deliveryId);
      return {
        look: { queues: { a }, branches: { x } },
        operations: {
          acquire: [(at) => at.acquire(a, { maxMessages: 2 })],
          release: [(at) => at.release(ids)],
          inBranch: [(at) => at.with({ ...inSession, xid: x }).accept(ids)],
        },
      };
    },
  },
  {
    name: "resume / prepare / recovery",
    async setUp(stage) {
      const scene = await swapped(stage, { sessionSeconds: 3600 });
      return {
        look: { ...lookOf(scene), sessions: { s: scene.session } },
        operations: {
          resume: [(at) => at.attach(scene.session, 3600)],
          prepare: [(at) => at.prepare(scene.x)],
          recovery: [recovery],
        },
      };
    },
  },
  {
    name: "timeout / one-phase commit / acquire",
    async setUp(stage) {
      const scene = await swapped(stage, { timeoutSeconds: 10 });
      return {
        look: lookOf(scene),
        operations: {
          timeout: [timePasses, (at) => at.browse(scene.a)],
          commit: [(at) => at.commit(scene.x, { onePhase: true })],
          acquire: [(at) => at.acquire(scene.a)],
        },
      };
    },
  },
  {
    name: "commit / rollback of another branch / acquire, on one run",
    async setUp(stage) {
      const [a, inSession] = await Promise.all([queueWith(stage, ["a1", "a2", "a3"]), stage.lastingSession()]);
      const s = stage.client.with(inSession);
      const [x, y] = [newXid(), newXid()];
      for (const xid of [x, y]) {
        const worker = await begin(s, xid, 3600);
        await acceptAll(worker, await take(worker, a));
        expectOk(await s.end(xid));
      }
      return {
        look: { queues: { a }, branches: { x, y } },
        operations: {
          commit: [(at) => at.commit(x, { onePhase: true })],
          rollback: [(at) => at.rollback(y)],
          acquire: [(at) => at.acquire(a, { maxMessages: 3 })],
        },
      };
    },
  },
];

/** On a table of its own: see `deleted`. */
export const deletedTriples: readonly Scenario[] = [
  {
    name: "enqueue / delete queue / declare",
    async setUp(stage) {
      const d = await queueWith(stage);
      const settings = { deadLetterQueue: d };
      const a = await queueWith(stage, ["a1"], settings);
      return {
        look: { queues: { a, d }, isSwept: true },
        operations: {
          enqueue: [(at) => at.enqueue(a, messages("a2"))],
          delete: [(at) => at.deleteQueue(a)],
          declare: [(at) => at.declare(a, settings)],
        },
      };
    },
  },
];
