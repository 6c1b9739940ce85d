/** Work in a branch, and the end of its time or of its session. */
import type { Client } from "../../support/client.ts";
import { expectOk, expectXa } from "../../support/moves.ts";
import { newXid } from "../../support/names.ts";
import type { Act, Scenario, Scene, Stage } from "../scenario.ts";
import {
  attached,
  contextOf,
  inDoubt,
  lookOf,
  messages,
  PAST_10_S,
  queueWith,
  type Swapped,
  type SwapSettings,
  swapped,
  swapping,
} from "../scenes.ts";

const own: SwapSettings = { sessionSeconds: 3600 };
const short: SwapSettings = { sessionSeconds: 10 };

/** A swap, and what two do to it; the session is looked at too. */
const onSwap = (
  name: string,
  make: (stage: Stage) => Promise<Swapped>,
  operations: (scene: Swapped) => Scene["operations"],
): Scenario => ({
  name,
  async setUp(stage) {
    const scene = await make(stage);
    return { look: { ...lookOf(scene), sessions: { s: scene.session } }, operations: operations(scene) };
  },
});

const timePasses: Act = { passMs: PAST_10_S };
const recovery: Act = (at) => at.recovery();
const prepare =
  ({ x }: Swapped): Act =>
  (at) =>
    at.prepare(x);
const resume =
  ({ session }: Swapped): Act =>
  (at) =>
    at.attach(session, 3600);
const withinBranch = (at: Client, scene: Swapped): Client => at.with({ ...contextOf(scene), xid: scene.x });

const browse =
  ({ a }: Swapped): Act =>
  (at) =>
    at.browse(a);
const counts =
  ({ a }: Swapped): Act =>
  (at) =>
    at.getQueue(a);
const acquire =
  ({ a }: Swapped): Act =>
  (at) =>
    at.acquire(a);
const rollback =
  ({ x }: Swapped): Act =>
  (at) =>
    at.rollback(x);

/** A prepare, and who meets the branch when its 10 s are over. */
const prepareAndTimeout = (by: string, meets: (scene: Swapped) => Act, settings: SwapSettings = {}): Scenario => ({
  name: `prepare / timeout, met by ${by}`,
  async setUp(stage) {
    const scene = await swapped(stage, { timeoutSeconds: 10, ...settings });
    return { look: lookOf(scene), operations: { prepare: [prepare(scene)], timeout: [timePasses, meets(scene)] } };
  },
});

const timeouts: readonly Scenario[] = [
  prepareAndTimeout("a browser", browse),
  prepareAndTimeout("a reader of the counts", counts),
  prepareAndTimeout("an acquire", acquire),
  prepareAndTimeout("an acquire of all there is", acquire, { onA: ["a1"] }),
  prepareAndTimeout("recovery", () => recovery),
  prepareAndTimeout("a rollback", rollback),
  {
    name: "one-phase commit / timeout, met by an acquire",
    async setUp(stage) {
      const scene = await swapped(stage, { timeoutSeconds: 10 });
      const { a, x } = scene;
      return {
        look: lookOf(scene),
        operations: {
          commit: [(at) => at.commit(x, { onePhase: true })],
          timeout: [timePasses, (at) => at.acquire(a)],
        },
      };
    },
  },
  {
    name: "set timeout / timeout, met by an acquire",
    async setUp(stage) {
      const scene = await swapped(stage, { timeoutSeconds: 10 });
      const { a, x } = scene;
      return {
        look: lookOf(scene),
        operations: { set: [(at) => at.setTimeout(x, 3600)], timeout: [timePasses, (at) => at.acquire(a)] },
      };
    },
  },
];

const sessionEnds: readonly Scenario[] = [
  onSwap(
    "prepare / session end, by a resume",
    (stage) => swapped(stage, own),
    (scene) => ({
      prepare: [prepare(scene)],
      resume: [resume(scene)],
    }),
  ),
  onSwap(
    "prepare / session end, by its time, met by recovery",
    (stage) => swapped(stage, short),
    (scene) => ({
      prepare: [prepare(scene)],
      expiry: [timePasses, recovery],
    }),
  ),
  onSwap(
    "prepare / session end, by a detach after a proper end",
    (stage) => swapped(stage, own),
    (scene) => ({
      prepare: [prepare(scene)],
      detach: [(at) => at.detach(scene.session)],
    }),
  ),
  {
    name: "prepare / session end, by a detach while it is associated",
    async setUp(stage) {
      const scene = await swapped(stage, own);
      const other = await attached(stage);
      expectXa(await stage.client.with(other).start(scene.x, { join: true }), "XA_OK");
      return {
        look: { ...lookOf(scene), sessions: { s: scene.session, other: other.session } },
        operations: { prepare: [prepare(scene)], detach: [(at) => at.detach(other.session)] },
      };
    },
  },
  onSwap(
    "end / session end, by a detach",
    (stage) => swapping(stage, own),
    (scene) => ({
      end: [(at) => at.with(contextOf(scene)).end(scene.x)],
      detach: [(at) => at.detach(scene.session)],
    }),
  ),
  onSwap(
    "commit / session end, by a resume",
    (stage) => inDoubt(stage, own),
    (scene) => ({
      commit: [(at) => at.commit(scene.x)],
      resume: [resume(scene)],
    }),
  ),
  onSwap(
    "one-phase commit / session end, by a resume",
    (stage) => swapped(stage, own),
    (scene) => ({
      commit: [(at) => at.commit(scene.x, { onePhase: true })],
      resume: [resume(scene)],
    }),
  ),
];

const resumes: readonly Scenario[] = [
  {
    name: "resume / start",
    async setUp(stage) {
      const inSession = await attached(stage);
      const x = newXid();
      return {
        look: { branches: { x }, sessions: { s: inSession.session } },
        operations: {
          resume: [(at) => at.attach(inSession.session, 3600)],
          start: [(at) => at.with(inSession).start(x)],
        },
      };
    },
  },
  {
    name: "resume / start join",
    async setUp(stage) {
      const scene = await swapped(stage);
      const other = await attached(stage);
      return {
        look: { ...lookOf(scene), sessions: { other: other.session } },
        operations: {
          resume: [(at) => at.attach(other.session, 3600)],
          join: [(at) => at.with(other).start(scene.x, { join: true })],
        },
      };
    },
  },
  {
    name: "resume / start resume",
    async setUp(stage) {
      const scene = await swapping(stage, own);
      expectXa(await stage.client.with(contextOf(scene)).end(scene.x, { suspend: true }), "XA_OK");
      return {
        look: { ...lookOf(scene), sessions: { s: scene.session } },
        operations: {
          resume: [resume(scene)],
          start: [(at) => at.with(contextOf(scene)).start(scene.x, { resume: true })],
        },
      };
    },
  },
  {
    name: "resume / accept in branch",
    async setUp(stage) {
      const scene = await swapping(stage, own);
      const { deliveries } = expectOk(await stage.client.acquire(scene.a, { leaseSeconds: 30 }));
      const ids = deliveries.map(({ deliveryId }) => deliveryId);
      return {
        look: { ...lookOf(scene), sessions: { s: scene.session } },
        operations: { resume: [resume(scene)], accept: [(at) => withinBranch(at, scene).accept(ids)] },
      };
    },
  },
  onSwap(
    "resume / enqueue in branch",
    (stage) => swapping(stage, own),
    (scene) => ({
      resume: [resume(scene)],
      enqueue: [(at) => withinBranch(at, scene).enqueue(scene.b, messages("b2"))],
    }),
  ),
  onSwap(
    "resume / resume",
    (stage) => swapping(stage, own),
    (scene) => ({
      resume: [resume(scene)],
      again: [resume(scene)],
    }),
  ),
  onSwap(
    "resume / detach",
    (stage) => swapping(stage, own),
    (scene) => ({
      resume: [resume(scene)],
      detach: [(at) => at.detach(scene.session)],
    }),
  ),
];

const keepAlive = (at: Client, scene: Parameters<typeof contextOf>[0]) =>
  at.with(contextOf(scene)).keepAlive(scene.session, 3600);

const keepAlives: readonly Scenario[] = [
  onSwap(
    "keep-alive / recovery",
    (stage) => swapped(stage, short),
    (scene) => ({
      keepAlive: [(at) => keepAlive(at, scene)],
      recovery: [timePasses, recovery],
    }),
  ),
  onSwap(
    "keep-alive / prepare by another",
    (stage) => swapped(stage, short),
    (scene) => ({
      keepAlive: [(at) => keepAlive(at, scene)],
      prepare: [timePasses, prepare(scene)],
    }),
  ),
  {
    name: "keep-alive / acquire of what the session leased",
    async setUp(stage) {
      const a = await queueWith(stage, ["a1", "a2"]);
      const inSession = await attached(stage, 10);
      expectOk(await stage.client.with(inSession).acquire(a, { leaseSeconds: 30 }));
      return {
        look: { queues: { a }, sessions: { s: inSession.session } },
        operations: {
          keepAlive: [(at) => keepAlive(at, inSession)],
          acquire: [timePasses, (at) => at.acquire(a)],
        },
      };
    },
  },
];

export const deaths: readonly Scenario[] = [...timeouts, ...sessionEnds, ...resumes, ...keepAlives];
