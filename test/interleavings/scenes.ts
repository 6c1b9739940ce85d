/** What the scenes are made of. */
import type { Client } from "../support/client.ts";
import { acceptAll, begin, endAndPrepare, expectOk, expectXa, take } from "../support/moves.ts";
import { newXid, unique } from "../support/names.ts";
import type { Delivery, MessageInput, QueueSettings } from "../support/shapes.ts";
import type { InSession, Stage } from "./scenario.ts";

/** Past any deadline of 10 s, well before the end of a call. */
export const PAST_10_S = 11_000;
/** Longer than any schedule takes, shorter than what is waited for. */
export const DEADLINE_SECONDS = 10;

/** Messages whose ids are their bodies, so that they are the same in every run. */
export const messages = (...bodies: readonly string[]): readonly MessageInput[] =>
  bodies.map((body) => ({ body, messageId: body }));

/** A queue that every process has met and keeps the settings of. */
export const queueWith = async (
  stage: Stage,
  bodies: readonly string[] = [],
  settings: QueueSettings = {},
): Promise<string> => {
  const queue = unique();
  expectOk(await stage.client.declare(queue, settings), 201);
  if (bodies.length > 0) await put(stage.client, queue, ...bodies);
  await known(stage, queue, settings);
  return queue;
};

/** Makes every process keep the settings of a queue. */
export const known = async (stage: Stage, queue: string, settings: QueueSettings = {}): Promise<void> => {
  for (const { client } of stage.processes) expectOk(await client.declare(queue, settings));
};

export const put = async (client: Client, queue: string, ...bodies: readonly string[]): Promise<void> => {
  expectOk(await client.enqueue(queue, messages(...bodies)), 201);
};

export const attached = async (stage: Stage, timeoutSeconds = 3600): Promise<InSession> => {
  const session = unique("session");
  const { epoch } = expectOk(await stage.client.attach(session, timeoutSeconds), 201);
  return { session, epoch };
};

export interface Swapped extends InSession {
  readonly a: string;
  readonly b: string;
  readonly x: string;
  /** What was taken from a, the first of it enlisted in the branch. */
  readonly taken: readonly Delivery[];
}

export interface SwapSettings {
  /** Of the branch. */
  readonly timeoutSeconds?: number;
  /** Of a session of its own; without it the lasting one. */
  readonly sessionSeconds?: number;
  readonly queues?: QueueSettings;
  readonly ofA?: QueueSettings;
  /** What stands on a; the first of it is taken. */
  readonly onA?: readonly string[];
  /** Body bytes added to what is published, so that it lies outside the branch's record. */
  readonly bytes?: number;
}

/** A branch at work: it has accepted a1 (of a1, a2, a3, unless told otherwise) and published b1 to b, where b0 stands. */
export const swapping = async (stage: Stage, settings: SwapSettings = {}): Promise<Swapped> => {
  const {
    timeoutSeconds = 3600,
    sessionSeconds,
    queues = {},
    ofA = {},
    onA = ["a1", "a2", "a3"],
    bytes = 0,
  } = settings;
  const [a, b, inSession] = await Promise.all([
    queueWith(stage, onA, { ...queues, ...ofA }),
    queueWith(stage, ["b0"], queues),
    sessionSeconds === undefined ? stage.lastingSession() : attached(stage, sessionSeconds),
  ]);
  const x = newXid();
  const worker = await begin(stage.client.with(inSession), x, timeoutSeconds);
  const taken = await take(worker, a);
  await acceptAll(worker, taken);
  expectOk(await worker.enqueue(b, [{ body: `b1${".".repeat(bytes)}`, messageId: "b1" }]), 201);
  return { a, b, x, taken, ...inSession };
};

/** The same, ended. */
export const swapped = async (stage: Stage, settings?: SwapSettings): Promise<Swapped> => {
  const scene = await swapping(stage, settings);
  expectXa(await stage.client.with(contextOf(scene)).end(scene.x), "XA_OK");
  return scene;
};

/** The same, prepared. */
export const inDoubt = async (stage: Stage, settings?: SwapSettings): Promise<Swapped> => {
  const scene = await swapping(stage, settings);
  await endAndPrepare(stage.client.with(contextOf(scene)), scene.x);
  return scene;
};

export const contextOf = ({ session, epoch }: InSession): InSession => ({ session, epoch });

/** What a swap may have touched. */
export const lookOf = ({ a, b, x }: Swapped) => ({
  queues: { a, b },
  branches: { x },
});
