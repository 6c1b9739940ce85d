/** One case: the scene, the request with or without a fault, a crash, recovery, the client's retry, and what is there then. */
import { type Counters, type Look, lookAt, type Seen } from "../interleavings/look.ts";
import { type Labels, type Told, told } from "../interleavings/told.ts";
import type { Answer } from "../support/http.ts";
import { expectOk, stateOf } from "../support/moves.ts";
import type { BranchView } from "../support/shapes.ts";
import { DAYS_MS, type Fault, FROZEN_MS, type Timing } from "./fault.ts";
import { type Context, Injection, type Seen as SeenCall } from "./injection.ts";
import { keyOf, textOfRecord } from "./records.ts";

/** What happens before the crash, or after recovery. */
export type Step = "act" | "frozen" | "days";

export interface Script {
  readonly before: readonly Step[];
  readonly after: readonly Step[];
}

/** What everyone sees without changing anything. */
export interface Peek {
  readonly queues: Readonly<Record<string, string>>;
  readonly branches: Readonly<Record<string, string>>;
  /** What else everyone is told. */
  readonly also: string;
  readonly counters: Readonly<Record<string, Counters & { readonly changes: number }>>;
}

export interface Played {
  /** What the request was told, the last one that was answered. */
  readonly told: Told;
  /** Whether the client had to send it again. */
  readonly isRetried: boolean;
  /** After the crash and recovery, before the retry. */
  readonly peek: Peek;
  /** What else everyone is told in the end. */
  readonly also: string;
  readonly seen: Seen;
  /** Records of messages and branches, by kind, when everything was taken apart. */
  readonly left: Readonly<Record<string, number>>;
  /** What recovery changed when it ran a second time. */
  readonly restless: readonly string[];
  readonly calls: readonly SeenCall[];
  readonly isStruck: boolean;
}

export interface Strike {
  readonly fault: Fault;
  readonly index: number;
}

const steady: Script = { before: ["act"], after: [] };

/** The time before the request, and what the client does when it was not answered. */
const scriptOf = (timing: Timing): Script => (timing === "days" ? { before: ["days", "act"], after: [] } : steady);

/** A case of a fault: the client repeats its request when it was not answered. */
export const playStruck = async (context: Context, { fault, index }: Strike): Promise<Played> =>
  play(context, scriptOf(fault.timing), new Injection(context, fault, index));

/** The same without a fault, as the script has it: the client repeats what the script says. */
export const playScript = async (context: Context, script: Script): Promise<Played> =>
  play(context, script, new Injection(context));

const play = async (context: Context, script: Script, injection: Injection): Promise<Played> => {
  const { lane, recorded } = context;
  const { scene } = recorded;
  const { process } = lane;
  await lane.show(recorded);
  injection.into(process);
  let answer: Told | undefined;
  const act = async () => {
    answer = await ask(context);
  };
  await follow(context, script.before, act);
  await injection.settled();
  await process.restart();
  const restless = await recover(context);
  const peek = { ...(await peekAt(context, scene.look)), also: await tellOf(context) };
  const isScripted = script.after.length > 0;
  if (isScripted) await follow(context, script.after, act);
  const isRetried = isScripted || (answer === undefined && script.before.includes("act"));
  for (let sent = 0; answer === undefined && script.before.includes("act"); sent += 1) {
    if (sent === RETRIES) throw new Error("the client was never answered");
    await act();
  }
  await injection.retried();
  const also = await tellOf(context);
  const seen =
    recorded.operation.isLarge === true ? await lookAtLarge(context) : await lookAt(lane.stage(), scene.look);
  return {
    told: answer ?? "nothing",
    isRetried,
    peek,
    also,
    seen,
    left: kindsOf((await lane.records()).map(keyOf)),
    restless,
    calls: injection.calls,
    isStruck: injection.isStruck,
  };
};

const RETRIES = 20;

const follow = async ({ lane }: Context, steps: readonly Step[], act: () => Promise<void>): Promise<void> => {
  for (const step of steps) {
    if (step === "act") await act();
    else lane.pass(step === "days" ? DAYS_MS : FROZEN_MS);
  }
};

/** Sends the request once: what it was told, undefined when it is to be sent again. */
const ask = async ({ lane, recorded }: Context): Promise<Told | undefined> => {
  const { scene } = recorded;
  if (scene.send === undefined) {
    await lane.process.runSchedule().catch(() => undefined);
    return "it ran";
  }
  const answer = await scene.send(lane.process.client);
  if (answer.status === 503 && answer.problem?.retryable === true) return undefined;
  // A purge or a redrive whose time was over says so, and is to be sent again.
  const { more } = (answer.problem === undefined ? (answer.body ?? {}) : {}) as { readonly more?: boolean };
  if (more === true) return undefined;
  const state =
    answer.problem === undefined && (answer.body as { readonly operations?: object } | undefined)?.operations;
  return state ? toldOfBranch(answer as Answer<BranchView>) : told(answer, labelsOf(scene.look));
};

const toldOfBranch = ({ body }: Answer<BranchView>): Told => body.state;

const labelsOf = ({ queues = {}, branches = {}, sessions = {} }: Look): Labels =>
  new Map([queues, branches, sessions].flatMap((named) => Object.entries(named).map(([label, name]) => [name, label])));

/** Once; twice when it did something: then the second run must find nothing to do. */
const recover = async ({ lane, recorded }: Context): Promise<readonly string[]> => {
  const { client } = lane.process;
  // A schedule that was cut off runs again a minute later.
  if (recorded.scene.look.isSwept === true || recorded.scene.send === undefined) await lane.process.runSchedule();
  // Where nothing is that it could find, it reads only empty lists.
  if (!(await lane.records()).some((record) => keyOf(record).startsWith("TPL#"))) return [];
  const { finished, rolledBack } = expectOk(await client.recovery());
  if (finished + rolledBack === 0) return [];
  const texts = async () => (await lane.records()).map(textOfRecord);
  const before = new Set(await texts());
  expectOk(await client.recovery());
  return (await texts()).filter((text) => !before.has(text));
};

const peekAt = async ({ lane }: Context, { queues = {}, branches = {} }: Look): Promise<Omit<Peek, "also">> => {
  const { client } = lane.process;
  const counters: Record<string, Counters & { readonly changes: number }> = {};
  const labels: Labels = new Map();
  const peek: { queues: Record<string, string>; branches: Record<string, string> } = { queues: {}, branches: {} };
  for (const [label, xid] of Object.entries(branches)) peek.branches[label] = await stateOf(client, xid);
  for (const [label, queue] of Object.entries(queues)) {
    const answer = await client.getQueue(queue);
    if (answer.problem?.code === "not-found") {
      peek.queues[label] = "gone";
      continue;
    }
    const { enqueued, settled, deadLettered, changeCounter } = expectOk(answer).stats;
    counters[label] = {
      enqueued: Number(enqueued),
      settled: Number(settled),
      deadLettered: Number(deadLettered),
      changes: Number(changeCounter),
    };
    const browsed = told(await client.browse(queue, { limit: 500 }), labels);
    peek.queues[label] = `${String(browsed)} | ${String(told(answer, labels))}`;
  }
  return { ...peek, counters };
};

/** What stands there, without taking it apart: that would be a write for each of its many runs. */
const lookAtLarge = async (context: Context): Promise<Seen> => {
  const { queues, branches, counters } = await peekAt(context, context.recorded.scene.look);
  return { queues, branches, sessions: {}, drained: [], room: {}, counters };
};

const tellOf = async ({ lane, recorded }: Context): Promise<string> => {
  const answer = await recorded.scene.tell?.(lane.process.client);
  return answer === undefined ? "" : (answer.problem?.code ?? JSON.stringify(answer.body));
};

/** How many records there are of each kind that does not outlast its messages or its branch. */
const kindsOf = (keys: readonly string[]): Readonly<Record<string, number>> => {
  const kinds: Record<string, number> = {};
  for (const key of keys) {
    const [kind] = /^PAYLOAD#|(?<=^TPL#.*)(?:XID|OPS)#|(?<= \/ )M#/.exec(key) ?? [];
    if (kind !== undefined) kinds[kind] = (kinds[kind] ?? 0) + 1;
  }
  return kinds;
};
