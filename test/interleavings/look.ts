/** What is there after everyone moved: looked at as it stands, then taken apart until nothing is left. */
import { expect } from "vitest";
import type { Client } from "../support/client.ts";
import { expectOk } from "../support/moves.ts";
import type { Queued } from "../support/queues.ts";
import type { BranchView } from "../support/shapes.ts";
import { completionsOf } from "./completions.ts";
import type { Stage } from "./scenario.ts";
import { toldOfDelivery } from "./told.ts";

/** What the operations may have touched: by the name that it has in every run, its name in this one. */
export interface Look {
  readonly queues?: Readonly<Record<string, string>>;
  readonly branches?: Readonly<Record<string, string>>;
  readonly sessions?: Readonly<Record<string, string>>;
  /** Limited queues: how much they still take, once they are empty, must be all. */
  readonly isLimited?: boolean;
  /** What was in the command queue: given to the workers once more, so that nothing is left open. */
  readonly queued?: readonly Queued[];
  /** Sessions whose commands came to something. */
  readonly commands?: Readonly<Record<string, string>>;
  /** A queue may have been deleted: looked at when the schedule has sent on what was left of it. */
  readonly isSwept?: boolean;
}

export interface Seen {
  readonly queues: Readonly<Record<string, string>>;
  readonly branches: Readonly<Record<string, string>>;
  readonly sessions: Readonly<Record<string, string>>;
  /** By queue, what a consumer gets: at once; then as long as something is left, when leases are over, when branches are. */
  readonly drained: readonly Drained[];
  /** How much limited queues take once they are empty. */
  readonly room: Readonly<Record<string, number>>;
  readonly counters: Readonly<Record<string, Counters>>;
  readonly commands?: Readonly<Record<string, readonly string[]>>;
}

type Drained = Readonly<Record<string, readonly string[]>>;

/** May run ahead of what was done, never behind. */
export interface Counters {
  readonly enqueued: number;
  readonly settled: number;
  readonly deadLettered: number;
}

/** Longer than the leases of the scenes; shorter than their sessions. */
const LEASES_OVER_MS = 60_000;
/** Longer than a deleted queue is swept. */
const SWEPT_MS = 17 * 60_000;

export const lookAt = async (stage: Stage, look: Look): Promise<Seen> => {
  const { client } = stage;
  const { queues = {}, branches = {}, sessions = {}, commands } = look;
  if (look.queued !== undefined) await stage.work(look.queued);
  const counters: Record<string, Counters> = {};
  if (look.isSwept === true) await sweep(stage);
  const seen = {
    queues: await each(queues, (queue, label) => lookAtQueue(client, queue, label, counters)),
    branches: await each(branches, (xid) => lookAtBranch(client, xid)),
    sessions: await each(sessions, (session) => lookAtSession(client, session)),
    ...(commands && { commands: await each(commands, (session) => completionsOf(client, session)) }),
  };
  const drained = [await drainAll(client, queues)];
  const isLeft = Object.values(seen.queues).some((counts) => !counts.endsWith(", 0 leased, 0 held"));
  if (isLeft) {
    stage.wait(LEASES_OVER_MS);
    drained.push(await drainAll(client, queues));
  }
  await rollBackAll(client, Object.values(branches));
  if (isLeft) drained.push(await drainAll(client, queues));
  if (look.isSwept === true) {
    await sweep(stage);
    drained.push(await drainAll(client, queues));
    // What is left of the queues is buried too: the next schedule has nothing to do with them.
    await Promise.all(Object.values(queues).map((queue) => client.deleteQueue(queue)));
    await sweep(stage);
  }
  const room = look.isLimited === true ? await each(queues, (queue) => roomOf(client, queue)) : {};
  return { ...seen, drained, room, counters };
};

/** Until the schedule has buried what was deleted. */
const sweep = async (stage: Stage): Promise<void> => {
  stage.wait(SWEPT_MS);
  await stage.runSchedule();
};

const each = async <T>(
  named: Readonly<Record<string, string>>,
  work: (name: string, label: string) => Promise<T>,
): Promise<Readonly<Record<string, T>>> =>
  Object.fromEntries(
    await Promise.all(Object.entries(named).map(async ([label, name]) => [label, await work(name, label)] as const)),
  );

const lookAtQueue = async (
  client: Client,
  queue: string,
  label: string,
  counters: Record<string, Counters>,
): Promise<string> => {
  const answer = await client.getQueue(queue);
  if (answer.problem?.code === "not-found") return "gone";
  const { available, leased, held, enqueued, settled, deadLettered } = expectOk(answer).stats;
  counters[label] = { enqueued: Number(enqueued), settled: Number(settled), deadLettered: Number(deadLettered) };
  return `${available} available, ${leased} leased, ${held} held`;
};

/** What `GET /dtx/{xid}` shows beside the state. */
interface Shown extends BranchView {
  readonly associations?: readonly { readonly session: string; readonly epoch: number; readonly state: string }[];
  readonly operations?: readonly { readonly kind: string; readonly messages: number }[];
  readonly dropped?: number;
}

const findBranch = async (client: Client, xid: string): Promise<Shown | undefined> => {
  const answer = await client.getBranch(xid);
  return answer.problem?.code === "not-found" ? undefined : expectOk(answer);
};

const lookAtBranch = async (client: Client, xid: string): Promise<string> => {
  const branch = await findBranch(client, xid);
  if (branch === undefined) return "none";
  const { state, associations = [], operations = [], dropped = 0 } = branch;
  return [
    state,
    ...associations.map((association) => `${association.state} at epoch ${association.epoch}`),
    ...operations.map(({ kind, messages }) => `${kind} ${messages}`),
    ...(dropped === 0 ? [] : [`dropped ${dropped}`]),
  ].join(", ");
};

const lookAtSession = async (client: Client, session: string): Promise<string> => {
  const { epoch, state } = expectOk(await client.getSession(session));
  return `${state} at epoch ${epoch}`;
};

/** One after the other, as they are named: what the first sends to a dead-letter queue is there when its turn comes. */
const drainAll = async (client: Client, queues: Readonly<Record<string, string>>): Promise<Drained> => {
  const drained: Record<string, readonly string[]> = {};
  for (const [label, queue] of Object.entries(queues)) {
    const answer = await client.acquire(queue, { maxMessages: 500, settle: "none" });
    drained[label] = answer.problem?.code === "not-found" ? [] : expectOk(answer).deliveries.map(toldOfDelivery);
  }
  return drained;
};

/** Fills a queue, up to 10 messages. */
const roomOf = async (client: Client, queue: string): Promise<number> => {
  for (let room = 0; room < 10; room += 1) {
    const { status } = await client.enqueue(queue, [{ body: "room" }]);
    if (status !== 201) return room;
  }
  return 10;
};

/** Ends what is left of branches, whatever state they are in: the next look at the store finds none of them. */
const rollBackAll = async (client: Client, xids: readonly string[]): Promise<void> => {
  for (const xid of xids) {
    const branch = await findBranch(client, xid);
    if (branch === undefined || branch.state === "committed" || branch.state === "rolled-back") continue;
    if (branch.state.startsWith("heuristically")) {
      expectOk(await client.forget(xid), 204);
      continue;
    }
    // Refused where the session has ended: then the association has too.
    for (const { session, epoch } of branch.associations ?? []) await client.with({ session, epoch }).end(xid);
    expect(expectOk(await client.rollback(xid)).xa).toMatch(/^(XA_OK|XA_RBTIMEOUT)$/);
  }
};
