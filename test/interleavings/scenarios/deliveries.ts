/** Two who take, settle or give back the same messages. */
import type { Client } from "../../support/client.ts";
import { begin, expectOk } from "../../support/moves.ts";
import { newXid } from "../../support/names.ts";
import type { Delivery } from "../../support/shapes.ts";
import type { Act, Allowed, Outcome, Scenario, Stage } from "../scenario.ts";
import { attached, PAST_10_S, put, queueWith } from "../scenes.ts";

const timePasses: Act = { passMs: PAST_10_S };

/** Takes so many of a queue under a lease of 10 s; their ids. */
const leased = async (stage: Stage, queue: string, maxMessages = 1): Promise<readonly string[]> => {
  const { deliveries } = expectOk(await stage.client.acquire(queue, { maxMessages, leaseSeconds: 10 }));
  return deliveries.map(({ deliveryId }) => deliveryId);
};

/** Two messages in one run, the first of them leased, and what two do then. */
const onLeased = (
  name: string,
  operations: (scene: { a: string; ids: readonly string[]; d: string }) => Readonly<Record<string, readonly Act[]>>,
  settings: { readonly maxDeliveries?: number } = {},
): Scenario => ({
  name,
  async setUp(stage) {
    const d = await queueWith(stage);
    const a = await queueWith(stage, ["a1", "a2"], { deadLetterQueue: d, ...settings });
    const ids = await leased(stage, a);
    return { look: { queues: { a, d } }, operations: operations({ a, ids, d }) };
  },
});

const expiries: readonly Scenario[] = [
  onLeased("accept / lease expiry, and an acquire", ({ a, ids }) => ({
    accept: [(at) => at.accept(ids)],
    expiry: [timePasses, (at) => at.acquire(a)],
  })),
  onLeased("accept / lease expiry, and an accept by the next one", ({ a, ids }) => {
    let taken: readonly Delivery[] = [];
    return {
      accept: [(at) => at.accept(ids)],
      expiry: [
        timePasses,
        async (at) => {
          const answer = await at.acquire(a);
          if (answer.problem === undefined) taken = answer.body.deliveries;
          return answer;
        },
        (at) => at.accept(taken.map(({ deliveryId }) => deliveryId)),
      ],
    };
  }),
  onLeased("extend / lease expiry, and an acquire", ({ a, ids }) => ({
    extend: [(at) => at.extend(ids, 300)],
    expiry: [timePasses, (at) => at.acquire(a)],
  })),
  onLeased("reject / lease expiry, and an acquire", ({ a, ids }) => ({
    reject: [(at) => at.reject(ids)],
    expiry: [timePasses, (at) => at.acquire(a)],
  })),
];

const settles: readonly Scenario[] = [
  onLeased("accept / release", ({ ids }) => ({
    accept: [(at) => at.accept(ids)],
    release: [(at) => at.release(ids)],
  })),
  onLeased("accept / reject", ({ ids }) => ({ accept: [(at) => at.accept(ids)], reject: [(at) => at.reject(ids)] })),
  onLeased("accept / accept", ({ ids }) => ({ accept: [(at) => at.accept(ids)], again: [(at) => at.accept(ids)] })),
  onLeased("release / acquire", ({ a, ids }) => ({
    release: [(at) => at.release(ids)],
    acquire: [(at) => at.acquire(a, { maxMessages: 2 })],
  })),
  onLeased("release / acquire and remove", ({ a, ids }) => ({
    release: [(at) => at.release(ids)],
    acquire: [(at) => at.acquire(a, { maxMessages: 2, settle: "none" })],
  })),
  onLeased(
    "release of what was delivered often enough / acquire, then of its dead-letter queue",
    ({ a, ids, d }) => ({
      release: [(at) => at.release(ids)],
      acquire: [(at) => at.acquire(a, { maxMessages: 2 }), (at) => at.acquire(d)],
    }),
    { maxDeliveries: 1 },
  ),
];

/** What the two acquires were given, in the words of `toldOfDelivery`. */
const givenBy = ({ told }: Outcome): readonly (readonly string[])[] =>
  Object.values(told).map(([first]) => (first as { readonly delivered?: readonly string[] }).delivered ?? []);

const shared: Allowed = {
  because:
    "others take them at the same time: each message went to one of the two, to both in order, and none was left out",
  allows(outcome, serial) {
    const given = givenBy(outcome);
    const all = given.flat();
    const expected = serial[0] === undefined ? [] : givenBy(serial[0]).flat();
    const isInOrder = given.every((some) => some.join() === some.toSorted().join());
    return isInOrder && all.toSorted().join() === expected.toSorted().join();
  },
};

/** Runs of two, one and one message, and two who want so many each. */
const bothAcquire = (name: string, maxMessages: number, settle: "explicit" | "none" = "explicit"): Scenario => ({
  name,
  async setUp(stage) {
    const a = await queueWith(stage, ["a1", "a2"]);
    await put(stage.client, a, "a3");
    await put(stage.client, a, "a4");
    const acquire: Act = (at) => at.acquire(a, { maxMessages, settle });
    return { look: { queues: { a } }, operations: { acquire: [acquire], other: [acquire] } };
  },
  also: [shared],
});

const acquires: readonly Scenario[] = [
  bothAcquire("acquire / acquire, of one", 1),
  bothAcquire("acquire / acquire, of two", 2),
  bothAcquire("acquire / acquire, of all", 4),
  bothAcquire("acquire / acquire, of two and removing them", 2, "none"),
  {
    name: "acquire / acquire, behind what has to move to the dead-letter queue",
    async setUp(stage) {
      const d = await queueWith(stage);
      const a = await queueWith(stage, [], { deadLetterQueue: d });
      const over = { body: "over", messageId: "over", ttlSeconds: 5 };
      expectOk(
        await stage.client.enqueue(a, [over, { body: "a1", messageId: "a1" }, { body: "a2", messageId: "a2" }]),
        201,
      );
      stage.wait(PAST_10_S);
      const acquire: Act = (at) => at.acquire(a);
      return { look: { queues: { a, d } }, operations: { acquire: [acquire], other: [acquire] } };
    },
  },
];

/** One leased message and two branches that are open. */
const inBranches = (
  name: string,
  operations: (scene: {
    readonly a: string;
    readonly ids: readonly string[];
    readonly inX: (at: Client) => Client;
    readonly inY: (at: Client) => Client;
  }) => Readonly<Record<string, readonly Act[]>>,
): Scenario => ({
  name,
  async setUp(stage) {
    const [a, inSession] = await Promise.all([queueWith(stage, ["a1", "a2"]), attached(stage)]);
    const [x, y] = [newXid(), newXid()];
    const s = stage.client.with(inSession);
    await Promise.all([begin(s, x, 3600), begin(s, y, 3600)]);
    const ids = await leased(stage, a);
    const inX = (at: Client) => at.with({ ...inSession, xid: x });
    const inY = (at: Client) => at.with({ ...inSession, xid: y });
    return { look: { queues: { a }, branches: { x, y } }, operations: operations({ a, ids, inX, inY }) };
  },
});

const acceptsInBranch: readonly Scenario[] = [
  inBranches("accept in branch / accept", ({ ids, inX }) => ({
    inBranch: [(at) => inX(at).accept(ids)],
    accept: [(at) => at.accept(ids)],
  })),
  inBranches("accept in branch / accept in another branch", ({ ids, inX, inY }) => ({
    inBranch: [(at) => inX(at).accept(ids)],
    inOther: [(at) => inY(at).accept(ids)],
  })),
  inBranches("accept in branch / the same again", ({ ids, inX }) => ({
    inBranch: [(at) => inX(at).accept(ids)],
    again: [(at) => inX(at).accept(ids)],
  })),
  inBranches("accept in branch / release", ({ ids, inX }) => ({
    inBranch: [(at) => inX(at).accept(ids)],
    release: [(at) => at.release(ids)],
  })),
  inBranches("accept in branch / lease expiry, and an acquire", ({ a, ids, inX }) => ({
    inBranch: [(at) => inX(at).accept(ids)],
    expiry: [timePasses, (at) => at.acquire(a)],
  })),
  inBranches("accept in branch / enqueue in the same branch", ({ a, ids, inX }) => ({
    inBranch: [(at) => inX(at).accept(ids)],
    enqueue: [(at) => inX(at).enqueue(a, [{ body: "b1", messageId: "b1" }])],
  })),
];

export const deliveries: readonly Scenario[] = [...expiries, ...settles, ...acquires, ...acceptsInBranch];
