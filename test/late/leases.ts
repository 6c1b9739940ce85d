/** Every verb that names a delivery, after its lease ended and the message went on. */
import type { Client } from "../support/client.ts";
import type { Answer } from "../support/http.ts";
import { acceptAll, begin, expectOk, newQueue, take } from "../support/moves.ts";
import { newXid } from "../support/names.ts";
import type { Settled } from "../support/shapes.ts";
import type { Row, Stage } from "./late.ts";
import { attached, LEASES_OVER_MS, leased } from "./scenes.ts";

interface Scene {
  readonly stage: Stage;
  /** Of the lease; undefined when it has none. */
  readonly session: Client | undefined;
  readonly queue: string;
  readonly ids: readonly string[];
}

interface Ending {
  /** The lease is one of a session. */
  readonly isInSession?: true;
  readonly told: string;
  readonly next: (scene: Scene) => Promise<void>;
}

const takenBySomebody = async ({ stage, queue, ids }: Scene): Promise<void> => {
  const taken = await take(stage.others, queue, 10, 300);
  if (taken.length !== ids.length) throw new Error("the messages are not there for the next lease");
};

/** How a lease ends, and what becomes of the message. */
export const endings = {
  "over, and given to somebody else": {
    told: "lease-lost",
    async next(scene) {
      scene.stage.wait(LEASES_OVER_MS);
      await takenBySomebody(scene);
    },
  },
  "over, and given to nobody yet": {
    told: "lease-lost",
    next: async ({ stage }) => stage.wait(LEASES_OVER_MS),
  },
  "given back, and given to somebody else": {
    told: "lease-lost",
    async next(scene) {
      expectOk(await scene.stage.others.release(scene.ids));
      await takenBySomebody(scene);
    },
  },
  "of an epoch that is over, and given to somebody else": {
    isInSession: true,
    told: "lease-lost",
    async next(scene) {
      expectOk(await scene.stage.others.attach(scene.session?.context.session ?? "", 3600));
      await takenBySomebody(scene);
    },
  },
  "of a session that was detached, and given to somebody else": {
    isInSession: true,
    told: "lease-lost",
    async next(scene) {
      expectOk(await scene.stage.others.detach(scene.session?.context.session ?? ""), 204);
      await takenBySomebody(scene);
    },
  },
  "over, and settled by somebody else": {
    told: "not-found",
    async next({ stage, queue }) {
      stage.wait(LEASES_OVER_MS);
      expectOk(await stage.others.acquire(queue, { maxMessages: 10, settle: "none" }));
    },
  },
  "over, and held by a branch": {
    told: "locked",
    async next({ stage, queue }) {
      stage.wait(LEASES_OVER_MS);
      const worker = await begin(await attached(stage), newXid(), 3600);
      await acceptAll(worker, await take(worker, queue, 10, 300));
    },
  },
  "of a queue that was deleted and declared anew": {
    told: "not-found",
    async next({ stage, queue }) {
      expectOk(await stage.others.deleteQueue(queue), 204);
      expectOk(await stage.others.declare(queue), 201);
      expectOk(await stage.others.enqueue(queue, [{ body: "anew" }]), 201);
    },
  },
} as const satisfies Record<string, Ending>;

export type LeaseEnding = keyof typeof endings;

export const leaseRows = (name: LeaseEnding): readonly Row[] => {
  const ending: Ending = endings[name];
  const row = (
    route: string,
    how: string,
    doing: (stage: Stage) => Promise<(ids: readonly string[]) => Promise<Answer<Settled>>>,
  ): Row => ({
    carries: "lease",
    route,
    how,
    told: `${ending.told}, ${ending.told}`,
    // What it had read of the message before, may be all that it goes by.
    toldUnderWay: ["lease-lost, lease-lost"],
    async make(stage) {
      const session = ending.isInSession && (await attached(stage));
      const deadLetterQueue = await newQueue(stage.others);
      const { queue, ids } = await leased(session ?? stage.others, ["m1", "m2"], { deadLetterQueue });
      const send = await doing(stage);
      return { send: () => send(ids), next: () => ending.next({ stage, session, queue, ids }) };
    },
  });
  return [
    row(
      "POST /deliveries/accept",
      "outside a branch",
      async ({ late }) =>
        (ids) =>
          late.accept(ids),
    ),
    row("POST /deliveries/accept", "in a branch", async (stage) => {
      const session = await attached(stage);
      const xid = newXid();
      await begin(session, xid, 3600);
      const late = stage.late.with({ ...session.context, xid });
      return (ids) => late.accept(ids);
    }),
    row(
      "POST /deliveries/release",
      "at once",
      async ({ late }) =>
        (ids) =>
          late.release(ids),
    ),
    row(
      "POST /deliveries/release",
      "later",
      async ({ late }) =>
        (ids) =>
          late.release(ids, { delaySeconds: 60 }),
    ),
    row(
      "POST /deliveries/reject",
      "to the dead-letter queue",
      async ({ late }) =>
        (ids) =>
          late.reject(ids, "late"),
    ),
    row(
      "POST /deliveries/extend",
      "by an hour",
      async ({ late }) =>
        (ids) =>
          late.extend(ids, 3600),
    ),
  ];
};
