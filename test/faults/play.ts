/** One case: the scene, the request with or without a fault, a crash, recovery, the client's retry, and what is there then. */
import { setTimeout as sleep } from "node:timers/promises";
import { type Counters, type Look, lookAt, type Seen } from "../interleavings/look.ts";
import { type Labels, type Told, told } from "../interleavings/told.ts";
import type { Client } from "../support/client.ts";
import type { Answer } from "../support/http.ts";
import { expectOk, stateOf } from "../support/moves.ts";
import type { BranchView } from "../support/shapes.ts";
import type { Deliveries } from "../support/workers.ts";
import { withoutDraws } from "./draws.ts";
import { DAYS_MS, type Fault, FROZEN_MS, type Timing } from "./fault.ts";
import { type Context, Injection, type Seen as SeenCall } from "./injection.ts";
import { isWork } from "./operation.ts";
import { keyOf, textOfRecord } from "./records.ts";
import { isEach } from "./settings.ts";
import { momentOf, textOfState } from "./states.ts";

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

/** What follows a crash. */
export interface End {
  /** What the request was told that the client sent again. */
  readonly told: Told | undefined;
  /** After the crash and recovery, before the retry. */
  readonly peek: Peek;
  /** What else everyone is told in the end. */
  readonly also: string;
  readonly seen: Seen;
  /** Records of messages and branches, by kind, when everything was taken apart. */
  readonly left: Readonly<Record<string, number>>;
  /** What recovery changed when it ran a second time. */
  readonly restless: readonly string[];
}

export interface Played extends End {
  /** What the request was told, the last one that was answered. */
  readonly told: Told;
  /** Whether the client had to send it again. */
  readonly isRetried: boolean;
  readonly calls: readonly SeenCall[];
  readonly isStruck: boolean;
}

export interface Strike {
  readonly fault: Fault;
  /** Undefined for a fault that strikes no call. */
  readonly call: SeenCall | undefined;
}

const steady: Script = { before: ["act"], after: [] };

/** The time before the request, and what the client does when it was not answered. */
const scriptOf = (timing: Timing): Script => (timing === "days" ? { before: ["days", "act"], after: [] } : steady);

/** A case of a fault: the client repeats its request when it was not answered. */
export const playStruck = async (context: Context, { fault, call }: Strike): Promise<Played> =>
  play(context, scriptOf(fault.timing), new Injection(context, fault, call));

/** The same without a fault, as the script has it: the client repeats what the script says. */
export const playScript = async (context: Context, script: Script): Promise<Played> =>
  play(context, script, new Injection(context));

const play = async (context: Context, script: Script, injection: Injection): Promise<Played> => {
  const { lane, recorded } = context;
  await lane.show(recorded);
  injection.into(lane.process);
  let answer: Told | undefined;
  await follow(context, script.before, async () => {
    answer = await ask(context, injection);
  });
  await injection.settled();
  const isOwed = answer === undefined && script.before.includes("act");
  const after = isOwed ? (["act"] as const) : script.after;
  const end = await endOf(context, after, injection);
  return {
    ...end,
    told: end.told ?? answer ?? "nothing",
    isRetried: after.length > 0,
    calls: injection.calls,
    isStruck: injection.isStruck,
  };
};

/**
 * A crash leaves the table and the queues, nothing else: what follows one state follows it whenever it is left again, and
 * is played once. Not where a call is still to land. Without a line nobody takes anything out of the queues: what was sent
 * there changes nothing. `CRASH=each` plays it each time.
 */
const endOf = async (context: Context, after: readonly Step[], injection: Injection): Promise<End> => {
  const { lane, recorded, ends } = context;
  const hasLine = recorded.scene.line !== undefined;
  if (isEach || !injection.isOver) return playEnd(context, after, injection);
  const queued = hasLine ? await lane.drainQueues() : {};
  const records = await lane.records();
  const key = [
    ...after,
    ...Object.entries(queued).flatMap(([name, all]) => [name, ...all.map(({ body }) => withoutDraws(body, () => "$"))]),
    injection.isFaulty,
    momentOf(lane.now(), recorded.nowMs),
    textOfState(records, recorded.nowMs),
  ].join("\n");
  const known = ends.get(key);
  if (known !== undefined) {
    lane.left(records);
    return known;
  }
  if (Object.keys(queued).length > 0) await lane.fillQueues(queued);
  const end = playEnd(context, after, injection);
  ends.set(key, end);
  return end;
};

export const isSend = ({ operation }: Pick<SeenCall, "operation">): boolean => operation.startsWith("Send");

/** The crash, recovery, what is there then, what the client does, and what is there in the end. */
const playEnd = async (context: Context, after: readonly Step[], injection: Injection): Promise<End> => {
  const { lane, recorded } = context;
  const { scene } = recorded;
  await lane.process.restart();
  const restless = await recover(context, injection.isFaulty);
  const peek = { ...(await peekAt(context, scene.look)), also: await tellOf(context) };
  let answer: Told | undefined;
  const act = async () => {
    answer = await ask(context);
    if (scene.line !== undefined) await lane.process.runWorker();
  };
  await follow(context, after, act);
  for (let sent = 1; answer === undefined && after.includes("act"); sent += 1) {
    if (sent === RETRIES) throw new Error("the client was never answered");
    await act();
  }
  if (!injection.isOver) {
    await injection.retried();
    if (scene.line !== undefined) await goOn(context, "once");
  }
  const also = await tellOf(context);
  const seen = recorded.operation.isLarge === true ? await lookAtLarge(context) : await lookAtAll(context, scene.look);
  return { told: answer, peek, also, seen, left: kindsOf((await lane.records()).map(keyOf)), restless };
};

const RETRIES = 20;

const follow = async ({ lane }: Context, steps: readonly Step[], act: () => Promise<void>): Promise<void> => {
  for (const step of steps) {
    if (step === "act") await act();
    else lane.pass(step === "days" ? DAYS_MS : FROZEN_MS);
  }
};

/** Sends the request once: what it was told, undefined when it is to be sent again. */
const ask = async (context: Context, injection?: Injection): Promise<Told | undefined> => {
  const { lane, recorded } = context;
  const { scene } = recorded;
  if (isWork(recorded.operation)) {
    await lane.process.runWorker(injection?.deliveries);
    return "it ran";
  }
  if (scene.send === undefined) {
    await lane.process.runSchedule().catch(() => undefined);
    return "it ran";
  }
  const sent = scene.send(lane.process.client);
  const answer = await (scene.line?.isAwaited === true ? withWorkers(context, sent, injection) : sent);
  if (answer.status === 503 && answer.problem?.retryable === true) return undefined;
  if (isPartly(answer)) return undefined;
  const state =
    answer.problem === undefined && (answer.body as { readonly operations?: object } | undefined)?.operations;
  return state ? toldOfBranch(answer as Answer<BranchView>) : told(answer, labelsOf(scene.look));
};

/** With workers at it from when it has sent something. */
const withWorkers = async <T>({ lane }: Context, sent: Promise<T>, injection?: Injection): Promise<T> => {
  let isOver = false;
  const over = () => {
    isOver = true;
  };
  sent.then(over, over);
  while (!isOver) {
    if (injection === undefined || injection.calls.some(isSend)) await lane.process.runWorker();
    await sleep(LOOKS_MS);
  }
  return sent;
};

const LOOKS_MS = 3;

/** A purge, a redrive or a recovery whose time was over, or that met what it could not do, says so: it is to be sent again. */
const isPartly = (answer: Answer<unknown>): boolean => {
  const { more, recovery } = (answer.problem === undefined ? (answer.body ?? {}) : {}) as {
    readonly more?: boolean;
    readonly recovery?: { readonly more?: boolean };
  };
  return more === true || recovery?.more === true;
};

const toldOfBranch = ({ body }: Answer<BranchView>): Told => body.state;

const labelsOf = ({ queues = {}, branches = {}, sessions = {} }: Look): Labels =>
  new Map([queues, branches, sessions].flatMap((named) => Object.entries(named).map(([label, name]) => [name, label])));

/**
 * After a fault twice at once, which must be as once (but counts may run ahead: those without a fault say how far they must
 * be). When it did something, once more: then there must be nothing to do.
 */
const recover = async ({ lane, recorded }: Context, isTwice: boolean): Promise<readonly string[]> => {
  const { client } = lane.process;
  if (recorded.scene.line !== undefined) {
    await goOn({ lane }, isTwice ? "twice at once" : "once");
    // A command that deleted a queue is done: what it left there is swept by the schedule.
    if (recorded.scene.look.isSwept === true) await lane.process.runSchedule();
    return [];
  }
  // A schedule that was cut off runs again a minute later.
  if (recorded.scene.look.isSwept === true || recorded.scene.send === undefined) await lane.process.runSchedule();
  // Where nothing is that it could find, it reads only empty lists.
  if (!(await lane.records()).some((record) => keyOf(record).startsWith("TPL#"))) return [];
  const reports = await Promise.all([client.recovery(), ...(isTwice ? [client.recovery()] : [])]);
  if (reports.map((report) => expectOk(report)).every(({ finished, rolledBack }) => finished + rolledBack === 0))
    return [];
  const texts = async () => (await lane.records()).map(textOfRecord);
  const before = new Set(await texts());
  expectOk(await client.recovery());
  return (await texts()).filter((text) => !before.has(text));
};

/**
 * The workers do what is left in the queues; what is still open then lost its wake: the schedule finds it, and finishes what
 * is decided.
 */
const goOn = async ({ lane }: Pick<Context, "lane">, deliveries: Deliveries): Promise<void> => {
  await lane.process.runWorker(deliveries);
  if (!(await lane.records()).some((record) => /^TPL#| \/ COMMAND#/.test(keyOf(record)))) return;
  await lane.process.runSchedule();
  await lane.process.runWorker(deliveries);
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

/** As in the interleavings, with fewer requests for the room of limited queues. */
const lookAtAll = async ({ lane }: Context, { isLimited, ...look }: Look): Promise<Seen> => {
  const seen = await lookAt(lane.stage(), look);
  if (isLimited !== true) return seen;
  const { client } = lane.process;
  const named = Object.entries(look.queues ?? {});
  return {
    ...seen,
    room: Object.fromEntries(
      await Promise.all(named.map(async ([label, queue]) => [label, await roomOf(client, queue)] as const)),
    ),
  };
};

/** How many messages a queue takes, up to the most: it takes all of a request or none. */
const roomOf = async (client: Client, queue: string): Promise<number> => {
  let room = 0;
  for (const count of [MOST_ROOM, ...HALVES]) {
    const messages = Array.from({ length: count }, () => ({ body: "room" }));
    if ((await client.enqueue(queue, messages)).status === 201) room += count;
    if (room >= MOST_ROOM) break;
  }
  return room;
};

const MOST_ROOM = 10;
const HALVES = [8, 4, 2, 1] as const;

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
    const [kind] = /^PAYLOAD#|(?<=^TPL#.*)(?:XID|OPS)#|(?<= \/ )(?:M|COMMAND)#/.exec(key) ?? [];
    if (kind !== undefined) kinds[kind] = (kinds[kind] ?? 0) + 1;
  }
  return kinds;
};
