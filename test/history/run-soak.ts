import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Service, type SharedEngines, startEngines, startService } from "../../local/service.ts";
import { fetchFrom } from "../support/fetch.ts";
import type { Anomaly } from "./anomaly.ts";
import { allQueues, certainly, declareAll, letters } from "./broker.ts";
import {
  type Caller,
  consume,
  decideInDoubt,
  manage,
  managers,
  operate,
  produce,
  resolve,
  takeOver,
  watch,
} from "./callers.ts";
import { completions, drain, outcome, stats, verb } from "./calls.ts";
import { check } from "./checker.ts";
import { beImpatient, countQueued } from "./command-queue.ts";
import { KILL_OF_EVERYTHING } from "./ends.ts";
import type { Entry } from "./history.ts";
import { Chance } from "./random.ts";
import { Recorder } from "./recorder.ts";
import { send, senders } from "./senders.ts";

export interface Soak {
  readonly seconds: number;
  readonly seed: number;
  /** Told each kill and jump. */
  readonly log: (line: string) => void;
}

export interface Soaked {
  readonly entries: readonly Entry[];
  readonly anomalies: readonly Anomaly[];
}

/** How far the clock may be off, in ms, while it goes on. */
const OFF_MS = { least: -15_000, most: 20_000 };
/** At the end everything that has a time is over. */
const OVER_MS = 3_600_000;
/** Some rounds of the schedule. */
const SWEPT_MS = 6_000;

/**
 * Producers, consumers, transaction managers, sessions that send commands, takeovers, kills and jumps of the clock for so
 * many seconds; then all commands are done, all branches decided, the queues counted and drained, and the history is checked.
 */
export const runSoak = async ({ seconds, seed, log }: Soak): Promise<Soaked> => {
  const house = await House.open();
  try {
    const to = new Recorder(fetchFrom(() => house.baseUrl));
    await declareAll(to);
    let isOver = false;
    const caller = (who: string, i: number): Caller => ({
      who,
      to,
      chance: new Chance(seed * 1000 + i),
      isOver: () => isOver,
    });
    const callers = [
      ...[1, 2].map((i) => produce(caller(`producer-${i}`, i))),
      ...[1, 2].map((i) => consume(caller(`consumer-${i}`, 10 + i))),
      ...managers.map((name, i) => manage(caller(name, 20 + i), name)),
      ...senders.map((name, i) => send(caller(name, 50 + i), name)),
      takeOver(caller("thief", 30)),
      resolve(caller("resolver", 31)),
      watch(caller("watcher", 32)),
      operate(caller("operator", 33)),
    ];
    await makeChaos(house, to, new Chance(seed), Date.now() + seconds * 1000, log);
    isOver = true;
    await Promise.all(callers);
    await comeToRest(house, to, caller("the end", 40));
    return { entries: to.entries, anomalies: check(to.entries) };
  } finally {
    await house.close();
  }
};

const makeChaos = async (
  house: House,
  to: Recorder,
  chance: Chance,
  untilMs: number,
  log: (line: string) => void,
): Promise<void> => {
  const note = (what: string): void => {
    to.note(what);
    log(what);
  };
  for (;;) {
    const waitMs = chance.whole(1_500, 5_000);
    if (Date.now() + waitMs >= untilMs) break;
    await sleep(waitMs);
    const dice = chance.whole(1, 6);
    if (dice <= 2) {
      note("kill -9 of the handlers");
      await house.killHandlers();
    } else if (dice === 3) {
      note(KILL_OF_EVERYTHING);
      await house.killAll();
    } else {
      const offMs = chance.whole(OFF_MS.least, OFF_MS.most);
      note(`the clock is off by ${offMs} ms`);
      await house.setClock(offMs);
    }
  }
  await sleep(Math.max(0, untilMs - Date.now()));
};

/** What can be brought to rest: its time and its work. */
export interface Resting {
  setClock(offMs: number): Promise<void>;
  /** Until nothing is on its way to a worker, or at work there. */
  untilQuiet(): Promise<void>;
  /** Until the schedule has been round. */
  untilSwept(): Promise<void>;
}

/** Everything done and decided, nothing leased, every queue counted and drained. */
export const comeToRest = async (house: Resting, to: Recorder, caller: Caller): Promise<void> => {
  await house.setClock(OVER_MS);
  await sleep(300);
  await endCommands(house, to, caller);
  let cursor: string | undefined;
  do {
    const body = cursor === undefined ? {} : { cursor };
    ({ cursor } = (await certainly(to, { method: "POST", path: "/recovery", body })) as { cursor?: string });
  } while (cursor !== undefined);
  const xids = new Set(
    to.entries.flatMap(({ asked }) => ("xid" in asked && asked.xid !== undefined ? [asked.xid] : [])),
  );
  for (let left = xids.size; left > 0; left -= 100) await decideInDoubt(caller, 1);
  for (const xid of xids) {
    // What was doomed and nobody was told of yet.
    await verb(to, caller.who, "rollback", xid);
    await outcome(to, xid);
  }
  for (const queue of allQueues) {
    // By then the schedule has moved what time had ended to the dead-letter queue, wherever it stood.
    if (queue === letters) await house.untilSwept();
    await stats(to, caller.who, queue, true);
    await drain(to, queue);
  }
};

/** Nothing is open or under way; then each session's completions are read, all of them. */
const endCommands = async (house: Resting, to: Recorder, { who }: Caller): Promise<void> => {
  for (const name of senders) {
    const path = `/sessions/${name}/sync`;
    for (let isOpen = true; isOpen; ) {
      const told = (await certainly(to, { method: "POST", path, body: { waitSeconds: 20 } })) as { open: unknown[] };
      isOpen = told.open.length > 0;
    }
  }
  await house.untilQuiet();
  for (const name of senders) {
    for (let [after, isWhole] = ["0", false]; !isWhole; ) {
      const told = await completions(to, who, name, after, true);
      if (told === undefined || "refused" in told) throw new Error(`the completions of ${name} got no answer`);
      isWhole = told.completions.length === 0;
      after = told.completions.at(-1)?.id ?? after;
    }
  }
};

/** The service and its engines, in processes of their own that can be killed apart. */
class House implements Resting {
  readonly #dataDir: string;
  #engines: SharedEngines | undefined;
  #service: Service | undefined;

  constructor(dataDir: string) {
    this.#dataDir = dataDir;
  }

  static async open(): Promise<House> {
    const house = new House(await mkdtemp(join(tmpdir(), "cairn-soak-")));
    await house.setClock(0);
    await house.#startEngines();
    await house.#startService();
    return house;
  }

  /** Of the service that runs, or ran last. */
  get baseUrl(): string {
    return this.#service?.baseUrl ?? "";
  }

  get #clock(): string {
    return join(this.#dataDir, "clock");
  }

  setClock(offMs: number): Promise<void> {
    return writeFile(this.#clock, String(offMs));
  }

  /** Until the command queue is empty, and what a worker had taken with it. */
  async untilQuiet(): Promise<void> {
    for (let isQuiet = false; !isQuiet; ) {
      isQuiet = (await countQueued(this.#engines?.sqsEndpoint ?? "")) === 0;
      if (!isQuiet) await sleep(250);
    }
  }

  untilSwept(): Promise<void> {
    return sleep(SWEPT_MS);
  }

  async killHandlers(): Promise<void> {
    await this.#service?.kill9();
    await this.#startService();
  }

  async killAll(): Promise<void> {
    await Promise.all([this.#service?.kill9(), this.#engines?.kill9()]);
    await this.#startEngines();
    await this.#startService();
  }

  async close(): Promise<void> {
    await this.#service?.kill9();
    await this.#engines?.kill9();
    await rm(this.#dataDir, { recursive: true, force: true });
  }

  async #startEngines(): Promise<void> {
    this.#engines = await startEngines({ dataDir: join(this.#dataDir, "engines") });
  }

  async #startService(): Promise<void> {
    this.#service = await startService({
      dataDir: join(this.#dataDir, "service"),
      env: {
        DYNAMODB_ENDPOINT: this.#engines?.dynamodbEndpoint,
        SQS_ENDPOINT: this.#engines?.sqsEndpoint,
        CAIRN_SCHEDULE_SECONDS: "2",
        NODE_OPTIONS: `--import=${new URL("clock.ts", import.meta.url).href}`,
        TEST_CLOCK_FILE: this.#clock,
      },
    });
    await beImpatient(this.#engines?.sqsEndpoint ?? "");
  }
}
