/** What the rows are made of. */
import { expect } from "vitest";
import type { Client } from "../support/client.ts";
import { newFanout } from "../support/exchanges.ts";
import { begin, endAndPrepare, enqueueBodies, expectOk, expectXa, newQueue, take } from "../support/moves.ts";
import { newXid, unique } from "../support/names.ts";
import type { QueueSettings } from "../support/shapes.ts";
import { type Stage, toldBy } from "./late.ts";

/** Longer than the leases here last, shorter than a call may take, a session lives, or a branch has. */
export const LEASE_SECONDS = 2;
export const LEASES_OVER_MS = 3_000;

/** A session, for a day unless told otherwise, spoken for by everybody else's process. */
export const attached = (stage: Stage, timeoutSeconds = 86_400): Promise<Client> =>
  stage.others.attached(unique("session"), timeoutSeconds);

/** The same client, whose requests go to the process of the late ones. */
export const lateOf = (stage: Stage, { context }: Client): Client => stage.late.with(context);

/** A queue with these bodies, and the ids of what was delivered of it to the client. */
export const leased = async (
  client: Client,
  bodies: readonly string[] = ["m1"],
  settings: QueueSettings = {},
  leaseSeconds = LEASE_SECONDS,
): Promise<{ readonly queue: string; readonly ids: readonly string[] }> => {
  const queue = await newQueue(client.with({}), bodies, settings);
  const deliveries = await take(client, queue, bodies.length, leaseSeconds);
  return { queue, ids: deliveries.map(({ deliveryId }) => deliveryId) };
};

/** A fanout exchange that two queues are bound to. */
export const fanout = (client: Client) => newFanout(client, 2);

/** A branch of the session at work: it has published a message. */
export const working = async (session: Client, xid = newXid()) => {
  const to = await newQueue(session);
  const worker = await begin(session, xid, 3600);
  await enqueueBodies(worker, to, ["published"]);
  return { xid, to, worker };
};

/** The same, ended, with a message taken besides. */
export const idle = async (session: Client, xid?: string) => {
  const branch = await working(session, xid);
  const { ids } = await leased(session);
  expect(toldBy(await branch.worker.accept(ids))).toBe("accepted");
  expectXa(await session.end(branch.xid), "XA_OK");
  return branch;
};

export const suspended = async (session: Client, xid?: string) => {
  const branch = await working(session, xid);
  expectXa(await session.end(branch.xid, { suspend: true }), "XA_OK");
  return branch;
};

export const prepared = async (session: Client, xid?: string) => {
  const branch = await working(session, xid);
  await endAndPrepare(session, branch.xid);
  return branch;
};

export const heuristic = async (session: Client, xid?: string) => {
  const branch = await prepared(session, xid);
  expectOk(await session.heuristic(branch.xid, "commit"));
  return branch;
};

/** Bodies that do not fit into a run's record or a branch's: they lie apart. */
export const LARGE = "x".repeat(3_000);
