/** Two who bring one branch to its end, or two branches that meet in one run. */
import type { Client } from "../../support/client.ts";
import { acceptAll, begin, endAndPrepare, expectOk, take } from "../../support/moves.ts";
import { newXid } from "../../support/names.ts";
import type { Scenario, Stage } from "../scenario.ts";
import { inDoubt, lookOf, messages, queueWith, type Swapped, type SwapSettings, swapped } from "../scenes.ts";

/** Verbs on the branch of a swap, each an operation of its name. */
const verbsOn = (
  name: string,
  make: (stage: Stage) => Promise<Swapped>,
  verbs: Readonly<Record<string, (at: Client, x: string) => ReturnType<Client["call"]>>>,
  look: { readonly isLimited?: boolean } = {},
): Scenario => ({
  name,
  async setUp(stage) {
    const scene = await make(stage);
    const operations = Object.entries(verbs).map(
      ([verb, call]) => [verb, [(at: Client) => call(at, scene.x)]] as const,
    );
    return { look: { ...lookOf(scene), ...look }, operations: Object.fromEntries(operations) };
  },
});

const commit = (at: Client, x: string) => at.commit(x);
const onePhase = (at: Client, x: string) => at.commit(x, { onePhase: true });
const rollback = (at: Client, x: string) => at.rollback(x);

const limited: SwapSettings = { queues: { maxMessages: 4 }, bytes: 2000 };

export const ends: readonly Scenario[] = [
  verbsOn("commit / rollback", inDoubt, { commit, rollback }),
  verbsOn("commit / commit", inDoubt, { commit, again: commit }),
  verbsOn("rollback / rollback", inDoubt, { rollback, again: rollback }),
  verbsOn("one-phase commit / rollback", swapped, { commit: onePhase, rollback }),
  verbsOn("one-phase commit / one-phase commit", swapped, { commit: onePhase, again: onePhase }),
  verbsOn("one-phase commit / prepare", swapped, { commit: onePhase, prepare: (at, x) => at.prepare(x) }),
  verbsOn("prepare / prepare", swapped, { prepare: (at, x) => at.prepare(x), again: (at, x) => at.prepare(x) }),
  verbsOn("prepare / rollback", swapped, { prepare: (at, x) => at.prepare(x), rollback }),
  verbsOn("commit / heuristic rollback", inDoubt, { commit, heuristic: (at, x) => at.heuristic(x, "rollback") }),
  verbsOn(
    "commit / rollback, on limited queues and with bodies apart",
    (stage) => inDoubt(stage, limited),
    { commit, rollback },
    { isLimited: true },
  ),
  verbsOn(
    "one-phase commit / rollback, on limited queues and with bodies apart",
    (stage) => swapped(stage, limited),
    { commit: onePhase, rollback },
    { isLimited: true },
  ),
  {
    name: "commit / commit of another branch that holds of the same run and publishes to the same queue",
    async setUp(stage) {
      const { a, b, x, y } = await twoBranches(stage);
      return {
        look: { queues: { a, b }, branches: { x, y } },
        operations: { commit: [(at) => at.commit(x)], other: [(at) => at.commit(y)] },
      };
    },
  },
  {
    name: "commit / rollback of another branch that holds of the same run and publishes to the same queue",
    async setUp(stage) {
      const { a, b, x, y } = await twoBranches(stage);
      return {
        look: { queues: { a, b }, branches: { x, y } },
        operations: { commit: [(at) => at.commit(x)], rollback: [(at) => at.rollback(y)] },
      };
    },
  },
];

/** Branches x and y, prepared: each holds one of the two messages on a and publishes one to b. */
const twoBranches = async (stage: Stage): Promise<{ a: string; b: string; x: string; y: string }> => {
  const [a, b, inSession] = await Promise.all([
    queueWith(stage, ["a1", "a2"]),
    queueWith(stage),
    stage.lastingSession(),
  ]);
  const s = stage.client.with(inSession);
  const [x, y] = [newXid(), newXid()];
  for (const [xid, body] of [
    [x, "from x"],
    [y, "from y"],
  ] as const) {
    const worker = await begin(s, xid, 3600);
    await acceptAll(worker, await take(worker, a));
    expectOk(await worker.enqueue(b, messages(body)), 201);
    await endAndPrepare(s, xid);
  }
  return { a, b, x, y };
};
