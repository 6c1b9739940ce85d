import { expect } from "vitest";
import type { Client } from "./client.ts";
import type { DynamodbProxy } from "./dynamodb-proxy.ts";
import type { Answer } from "./http.ts";
import {
  begin,
  bodiesOf,
  consume,
  countsOf,
  drain,
  endAndPrepare,
  enqueueBodies,
  expectXa,
  newQueues,
  newSession,
  untilDone,
} from "./moves.ts";
import { newXid } from "./names.ts";
import type { XaAnswer } from "./shapes.ts";

/** How many messages the branch publishes, and how many it takes that were enqueued one a call (each has a record of its own). */
export interface BranchSize {
  readonly published: number;
  readonly taken: number;
}

/** Large enough for several table transactions, small enough to be made often. */
export const SMALLEST_LARGE: BranchSize = { published: 150, taken: 120 };

export type Finish = "commit" | "rollback";

/** A prepared branch over three queues: from each it took all that was there, and to each it published. */
export interface LargeBranch {
  readonly c: Client;
  readonly xid: string;
  readonly queues: readonly string[];
  /** By queue, in order: what was there before, which a rollback gives back. */
  readonly taken: readonly (readonly string[])[];
  /** By queue, in order: what a commit makes available. */
  readonly published: readonly (readonly string[])[];
}

/** Makes and prepares such a branch. */
export async function largeBranch(c: Client, size: BranchSize): Promise<LargeBranch> {
  const s = await newSession(c);
  const queues = await newQueues(c, 3);
  const bodies = (what: string, count: number) =>
    queues.map((_, q) => Array.from({ length: Math.ceil((count - q) / 3) }, (_each, n) => `${what} ${q}/${n}`));
  const [old, published] = [bodies("old", size.taken), bodies("new", size.published)];
  await Promise.all(queues.map((queue, q) => enqueueOneByOne(c, queue, old[q] ?? [])));
  const xid = newXid();
  const inBranch = await begin(s, xid, 3600);
  const taken: string[][] = [];
  for (const [q, queue] of queues.entries()) {
    const deliveries = await consume(inBranch, queue, old[q]?.length);
    taken.push(deliveries.map((delivery) => delivery.body));
    await enqueueBodies(inBranch, queue, published[q] ?? []);
  }
  await endAndPrepare(s, xid);
  return { c, xid, queues, taken, published };
}

/** A call for each message, a few at a time: the queue decides their order, and the branch takes them in it. */
async function enqueueOneByOne(c: Client, queue: string, bodies: readonly string[]): Promise<void> {
  for (let i = 0; i < bodies.length; i += 5)
    await Promise.all(bodies.slice(i, i + 5).map((body) => enqueueBodies(c, queue, [body])));
}

/** Gives the verb, again while the service says that the work goes on, and requires XA_OK. */
export async function finishBranch({ c, xid }: LargeBranch, finish: Finish): Promise<void> {
  expectXa(await untilDone<XaAnswer>(() => c[finish](xid)), "XA_OK");
}

/** The queues show the whole outcome, in order, and count nothing as held or leased. */
export async function expectOutcome(branch: LargeBranch, finish: Finish): Promise<void> {
  const { c, queues } = branch;
  const expected = finish === "commit" ? branch.published : branch.taken;
  for (const [q, queue] of queues.entries()) {
    expect(await bodiesOf(c, queue), `queue ${q}`).toEqual(expected[q]);
    expect(await countsOf(c, queue), `queue ${q}`).toEqual({ available: expected[q]?.length, leased: 0, held: 0 });
  }
}

/** Like `expectOutcome`, and empties the queues: each message comes once, and says whether it was delivered before. */
export async function expectDelivered(branch: LargeBranch, finish: Finish): Promise<void> {
  await expectOutcome(branch, finish);
  const expected = finish === "commit" ? branch.published : branch.taken;
  for (const [q, queue] of branch.queues.entries()) {
    const drained = await drain(branch.c, queue);
    expect(drained.map((delivery) => delivery.body)).toEqual(expected[q]);
    expect(drained.every((delivery) => delivery.redelivered === (finish === "rollback"))).toBe(true);
  }
}

/** On how much of the branch the outcome was applied, judged by what the queues count. */
export type Applied = "none" | "some" | "all";

export async function appliedOf({ c, queues, taken, published }: LargeBranch, finish: Finish): Promise<Applied> {
  const counts = await Promise.all(queues.map((queue) => countsOf(c, queue)));
  const untouched = queues.map((_, q) => ({ available: 0, leased: 0, held: taken[q]?.length ?? 0 }));
  const done = queues.map((_, q) => ({
    available: (finish === "commit" ? published : taken)[q]?.length ?? 0,
    leased: 0,
    held: 0,
  }));
  if (JSON.stringify(counts) === JSON.stringify(untouched)) return "none";
  return JSON.stringify(counts) === JSON.stringify(done) ? "all" : "some";
}

/**
 * Starts the verb, lets `n` table writes of it pass (with `operation`: `n` of those), and resolves when the next one is held, or with
 * `ended: true` when there was no next one. Meant to be followed by a look and a kill: the verb's own call is left to fail with it.
 */
export async function stopAfter(
  proxy: DynamodbProxy,
  n: number,
  verb: () => Promise<Answer<XaAnswer>>,
  operation?: string,
): Promise<{ readonly ended: boolean }> {
  proxy.holdWritesAfter(n, operation);
  const ended = verb().then(
    () => ({ ended: true }),
    () => ({ ended: true }),
  );
  return Promise.race([proxy.whenHeld().then(() => ({ ended: false })), ended]);
}
