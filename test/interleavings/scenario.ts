/** A scene that operations meet in, and how it is played: in turns or one request after the other. */
import type { Client } from "../support/client.ts";
import type { Answer } from "../support/http.ts";
import type { InProcess } from "../support/in-process.ts";
import type { Queued } from "../support/queues.ts";
import type { Choose } from "./explore.ts";
import { type Look, lookAt, type Seen } from "./look.ts";
import { type Labels, type Told, told } from "./told.ts";
import { type InTurn, inTurns, type Notes, type Operation } from "./turns.ts";

/** What is there before anyone moves, and the operations. */
export interface Scene {
  readonly look: Look;
  /** By name; the first one has the first of the processes. */
  readonly operations: Readonly<Record<string, readonly Act[]>>;
}

/**
 * One request, made by a client of the operation's own process; or time that passes for everyone; or a worker of that process
 * that is given messages of the command queue.
 */
export type Act =
  | ((at: Client) => Promise<Answer<unknown>>)
  | { readonly passMs: number }
  | { readonly delivered: readonly Queued[] };

export interface Scenario {
  readonly name: string;
  /** Makes a scene that shares nothing with any other. */
  readonly setUp: (stage: Stage) => Promise<Scene>;
  /** Outcomes beyond those of the serial orders, each with its reason. */
  readonly also?: readonly Allowed[];
  /** Its orders are more, or slower, than a run has time for. Every order of a smaller one of its kind is run. */
  readonly isLong?: true;
}

export interface Allowed {
  readonly because: string;
  readonly allows: (outcome: Outcome, serial: readonly Outcome[]) => boolean;
}

export interface Outcome {
  /** What each operation was told, request by request. */
  readonly told: Readonly<Record<string, readonly Told[]>>;
  readonly seen: Seen;
}

/** A session and its epoch: the headers of a client in it. */
export interface InSession {
  readonly session: string;
  readonly epoch: number;
}

/** Where a scene is made and looked at, and the processes that its operations run in. */
export interface Stage {
  readonly client: Client;
  readonly processes: readonly InProcess[];
  wait(ms: number): void;
  /** A session that outlasts the scene; only for scenes that do nothing to it. */
  lastingSession(): Promise<InSession>;
  runSchedule(): Promise<void>;
  /** Takes out of the command queue what lies there. */
  drainQueue(): Promise<readonly Queued[]>;
  /** Gives the workers these, and then whatever comes of it. */
  work(messages: readonly Queued[]): Promise<void>;
}

/** How often a request is repeated while it is told to. */
const REPEATS = 50;

/** A scene with its operations in the order that `choose` gives. */
export const playInTurns = async (
  stage: Stage,
  scenario: Scenario,
  choose: Choose,
  notes?: Notes,
): Promise<{ readonly outcome: Outcome; readonly repeated: number }> => {
  const play = await begin(stage, scenario);
  await inTurns(play.operations, choose, notes);
  return { outcome: await play.outcome(), repeated: play.repeated() };
};

/** The outcomes of every order of whole requests. */
export const playSerially = async (stage: Stage, scenario: Scenario): Promise<readonly Outcome[]> => {
  const outcomes: Outcome[] = [];
  let orders: readonly (readonly string[])[] | undefined;
  for (let i = 0; i < (orders?.length ?? 1); i += 1) {
    const play = await begin(stage, scenario);
    orders ??= mergesOf(play.requests);
    for (const name of orders[i] ?? []) await play.act(name);
    outcomes.push(await play.outcome());
  }
  return outcomes;
};

/** Every order of these lists' members that keeps each list's own. */
const mergesOf = (lists: readonly (readonly string[])[]): readonly (readonly string[])[] => {
  const left = lists.filter((list) => list.length > 0);
  if (left.length === 0) return [[]];
  return left.flatMap((list) => {
    const rest = left.map((other) => (other === list ? other.slice(1) : other));
    return mergesOf(rest).map((merge) => [...list.slice(0, 1), ...merge]);
  });
};

interface Play {
  readonly operations: readonly Operation[];
  /** Of each operation its name, as often as it has requests. */
  readonly requests: readonly (readonly string[])[];
  /** Makes the next request of an operation. */
  act(name: string): Promise<void>;
  outcome(): Promise<Outcome>;
  repeated(): number;
}

const begin = async (stage: Stage, scenario: Scenario): Promise<Play> => {
  const { look, operations } = await scenario.setUp(stage);
  const names = Object.keys(operations);
  const answers = new Map<string, Told[]>(names.map((name) => [name, []]));
  let repeated = 0;
  const act = async (name: string, inTurn: InTurn): Promise<void> => {
    const all = answers.get(name) ?? [];
    const next = operations[name]?.[all.length];
    const process = processOf(stage, names.indexOf(name));
    if (next === undefined) throw new Error(`${name} has nothing more to do`);
    if (typeof next === "object" && "delivered" in next) {
      all.push(`${await process.deliver(next.delivered)} left undone`);
      return;
    }
    if (typeof next === "object") {
      await inTurn(`${next.passMs} ms pass`, "everything", () => stage.wait(next.passMs));
      all.push("time passed");
      return;
    }
    let answer = await next(process.client);
    for (let repeats = 0; answer.problem?.code === "unavailable" && repeats < REPEATS; repeats += 1) {
      repeated += 1;
      answer = await next(process.client);
    }
    all.push(told(answer, labelsOf(look)));
  };
  return {
    requests: names.map((name) => (operations[name] ?? []).map(() => name)),
    operations: names.map((name, i) => ({
      name,
      process: processOf(stage, i),
      async work(inTurn) {
        for (const _ of operations[name] ?? []) await act(name, inTurn);
      },
    })),
    act: (name) => act(name, async (_what, _touches, work) => work()),
    outcome: async () => ({ told: Object.fromEntries(answers), seen: await lookAt(stage, look) }),
    repeated: () => repeated,
  };
};

const processOf = ({ processes }: Stage, index: number): InProcess => {
  const process = processes[index];
  if (process === undefined) throw new Error("a process for each operation");
  return process;
};

const labelsOf = ({ queues = {}, branches = {}, sessions = {} }: Look): Labels =>
  new Map([queues, branches, sessions].flatMap((named) => Object.entries(named).map(([label, name]) => [name, label])));
