/** Recovery beside those who do the same, or what recovery must leave alone. */
import type { Client } from "../../support/client.ts";
import { acceptAll, begin, endAndPrepare, expectOk, expectRefused, take } from "../../support/moves.ts";
import { newXid } from "../../support/names.ts";
import type { Act, Allowed, Outcome, Scenario, Scene, Stage } from "../scenario.ts";
import { inDoubt, lookOf, PAST_10_S, queueWith, swapped } from "../scenes.ts";

const recovery: Act = (at) => at.recovery();

interface Large {
  readonly a: string;
  readonly b: string;
  readonly x: string;
}

/** Deduplication ids of one publish: two of them are more records than one table transaction takes. */
const IDS = 60;

/** A prepared branch that holds a1 and publishes twice, more than one table transaction takes. */
const large = async (stage: Stage): Promise<Large> => {
  const [a, b, inSession] = await Promise.all([
    queueWith(stage, ["a1", "a2"]),
    queueWith(stage),
    stage.lastingSession(),
  ]);
  const s = stage.client.with(inSession);
  const x = newXid();
  const worker = await begin(s, x, 3600);
  await acceptAll(worker, await take(worker, a));
  for (const half of ["first", "second"]) {
    const messages = Array.from({ length: IDS }, (_, i) => {
      const id = `${half} ${i}`;
      return { body: id, messageId: id, deduplicationId: id };
    });
    expectOk(await worker.enqueue(b, messages), 201);
  }
  await endAndPrepare(s, x);
  return { a, b, x };
};

/** The same, with its outcome decided by a caller who was then stopped: `applied` of its table transactions done. */
const decided = async (
  stage: Stage,
  verb: (at: Client, x: string) => Promise<unknown>,
  applied: number,
): Promise<Large> => {
  const scene = await large(stage);
  const [process] = stage.processes;
  if (process === undefined) throw new Error("a process to stop");
  let transactions = 0;
  process.onCall = async ({ request, operation }, next) => {
    if (operation !== "TransactWriteItems" || transactions++ < applied) return next();
    // Nor is it sent: whether it came before what the others do would be chance.
    request.stop();
    return new Promise(() => {});
  };
  await verb(process.client, scene.x);
  process.onCall = undefined;
  const { body } = await stage.client.getBranch(scene.x);
  if (body.state !== "deciding") throw new Error(`the branch is ${body.state}`);
  return scene;
};

/** An outcome as if whoever was told that the branch is remembered had brought it to its end. */
const withoutRemembered = ({ told, seen: { counters: _, ...seen } }: Outcome): string =>
  JSON.stringify({ told, seen }).replaceAll(" remembered", "");

const helped: Allowed = {
  because: "the same verb helps to finish a branch that is deciding, and both are told XA_OK",
  allows: (outcome, serial) => serial.some((one) => withoutRemembered(one) === withoutRemembered(outcome)),
};

const onLarge = (
  name: string,
  make: (stage: Stage) => Promise<Large>,
  operations: (scene: Large) => Scene["operations"],
): Scenario => ({
  name,
  also: [helped],
  isLong: true,
  async setUp(stage) {
    const { a, b, x } = await make(stage);
    return { look: { queues: { a, b }, branches: { x } }, operations: operations({ a, b, x }) };
  },
});

const commit = ({ x }: Large): readonly Act[] => [(at) => at.commit(x)];
const rollback = ({ x }: Large): readonly Act[] => [(at) => at.rollback(x)];
const commitStopped = (stage: Stage) =>
  decided(stage, async (at, x) => expectRefused(await at.commit(x), "unavailable"), 0);
const rollbackStopped = (stage: Stage) =>
  decided(stage, async (at, x) => expectRefused(await at.rollback(x), "unavailable"), 0);

export const recoveries: readonly Scenario[] = [
  {
    name: "recovery / commit",
    async setUp(stage) {
      const scene = await inDoubt(stage);
      return { look: lookOf(scene), operations: { recovery: [recovery], commit: [(at) => at.commit(scene.x)] } };
    },
  },
  {
    name: "recovery / rollback",
    async setUp(stage) {
      const scene = await inDoubt(stage);
      return { look: lookOf(scene), operations: { recovery: [recovery], rollback: [(at) => at.rollback(scene.x)] } };
    },
  },
  {
    name: "recovery / recovery, of the work of a session that ended",
    async setUp(stage) {
      const scene = await swapped(stage, { sessionSeconds: 10 });
      stage.wait(PAST_10_S);
      return { look: lookOf(scene), operations: { recovery: [recovery], again: [recovery] } };
    },
  },
  {
    name: "recovery / prepare, of the work of a session that ended",
    async setUp(stage) {
      const scene = await swapped(stage, { sessionSeconds: 10 });
      stage.wait(PAST_10_S);
      return { look: lookOf(scene), operations: { recovery: [recovery], prepare: [(at) => at.prepare(scene.x)] } };
    },
  },
  onLarge("recovery / recovery, of a commit that was decided", commitStopped, () => ({
    recovery: [recovery],
    again: [recovery],
  })),
  onLarge("recovery / commit, of a commit that was decided", commitStopped, (scene) => ({
    recovery: [recovery],
    commit: commit(scene),
  })),
  onLarge("recovery / rollback, of a rollback that was decided", rollbackStopped, (scene) => ({
    recovery: [recovery],
    rollback: rollback(scene),
  })),
  onLarge("commit / commit, past one table transaction", large, (scene) => ({
    commit: commit(scene),
    again: commit(scene),
  })),
  onLarge("commit / rollback, past one table transaction", large, (scene) => ({
    commit: commit(scene),
    rollback: rollback(scene),
  })),
];
