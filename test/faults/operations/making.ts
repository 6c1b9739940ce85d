/** What the scenes of the crash matrix are made of. */
import type { InSession, Stage } from "../../interleavings/scenario.ts";
import { messages } from "../../interleavings/scenes.ts";
import type { Client } from "../../support/client.ts";
import type { Answer } from "../../support/http.ts";
import { acceptAll, begin, endAndPrepare, expectOk, expectXa, take } from "../../support/moves.ts";
import { newXid, unique } from "../../support/names.ts";
import type { MessageInput, QueueSettings } from "../../support/shapes.ts";
import type { Operation, Scene } from "../operation.ts";

/** Longer than a case takes, shorter than a look waits for leases to end. */
export const LEASE_SECONDS = 50;

/** Bodies that do not fit into a run's record or a branch's: they lie apart. */
export const BYTES = 3_000;

/** `m01`, `m02`, … up to so many, from the one after `after`. */
export const numbered = (count: number, after = 0): readonly string[] =>
  Array.from({ length: count }, (_, i) => `m${String(after + i + 1).padStart(2, "0")}`);

/** Of these ids and bodies; with so many bytes more in a header, which the body's text does not show. */
export const messagesOf = (bodies: readonly string[], bytes = 0): readonly MessageInput[] =>
  messages(...bodies).map((message) => (bytes === 0 ? message : { ...message, headers: { pad: "x".repeat(bytes) } }));

/** A queue with these messages, a call of its own for each list of them. */
export const queueOf = async (
  { client }: Stage,
  calls: readonly (readonly string[])[] = [],
  settings: QueueSettings = {},
  bytes = 0,
): Promise<string> => {
  const queue = unique();
  expectOk(await client.declare(queue, { leaseSeconds: LEASE_SECONDS, ...settings }), 201);
  for (const bodies of calls) expectOk(await client.enqueue(queue, messagesOf(bodies, bytes)), 201);
  return queue;
};

/** So many deliveries of a queue, under the queue's lease. */
export const leasedOf = async (client: Client, queue: string, count: number): Promise<readonly string[]> =>
  (await take(client, queue, count)).map(({ deliveryId }) => deliveryId);

export interface Working extends InSession {
  readonly a: string;
  readonly b: string;
  readonly x: string;
}

export interface Work {
  readonly settings?: QueueSettings;
  /** Of b, beside those. */
  readonly ofB?: QueueSettings;
  readonly bytes?: number;
  readonly session?: InSession;
  readonly timeoutSeconds?: number;
}

/**
 * A branch at work: it has accepted m01 and m02 (of m01 to m04 on a, enqueued by two calls) and published m05 and m06 to b, where m00
 * stands.
 */
export const working = async (
  stage: Stage,
  { settings = {}, ofB = {}, bytes = 0, ...more }: Work = {},
): Promise<Working> => {
  const a = await queueOf(stage, [numbered(3), numbered(1, 3)], settings, bytes);
  const b = await queueOf(stage, [["m00"]], { ...settings, ...ofB });
  const { session, epoch } = more.session ?? (await stage.lastingSession());
  const x = newXid();
  const worker = await begin(stage.client.with({ session, epoch }), x, more.timeoutSeconds ?? 3600);
  await acceptAll(worker, await take(worker, a, 2));
  expectOk(await worker.enqueue(b, messagesOf(numbered(2, 4), bytes)), 201);
  return { a, b, x, session, epoch };
};

export const idle = async (stage: Stage, work?: Work): Promise<Working> => {
  const scene = await working(stage, work);
  expectXa(await inSession(stage.client, scene).end(scene.x), "XA_OK");
  return scene;
};

export const prepared = async (stage: Stage, work?: Work): Promise<Working> => {
  const scene = await working(stage, work);
  await endAndPrepare(inSession(stage.client, scene), scene.x);
  return scene;
};

export const inSession = (client: Client, { session, epoch }: InSession): Client => client.with({ session, epoch });

/** Everything that a branch at work may touch. */
export const lookOf = ({ a, b, x }: Working) => ({ queues: { a, b }, branches: { x } });

/** One verb on a branch that was brought to where it fits. */
export const onBranch = (
  route: string,
  how: string,
  bring: (stage: Stage) => Promise<Working>,
  verb: (client: Client, scene: Working) => Promise<Answer<unknown>>,
  more: Partial<Operation> & { readonly isLimited?: true; readonly isSwept?: true } = {},
): Operation => {
  const { isLimited, isSwept, ...rest } = more;
  return {
    route,
    how,
    ...rest,
    async setUp(stage): Promise<Scene> {
      const scene = await bring(stage);
      return {
        look: { ...lookOf(scene), ...(isLimited && { isLimited }), ...(isSwept && { isSwept }) },
        send: (client) => verb(inSession(client, scene), scene),
      };
    },
  };
};
