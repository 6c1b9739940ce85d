import { setTimeout as sleep } from "node:timers/promises";
import { HeldLanes, type Lanes } from "../../domain/command.ts";
import type { StoredCommand } from "../../records/command.ts";
import { Unavailable } from "../../store/port.ts";
import type { Context } from "../context.ts";
import { loadRequest } from "./load-request.ts";
import { openCommands } from "./open-commands.ts";
import { performCommand } from "./perform-command.ts";

/** Commands of one session that run at the same time: calls to the table in flight. */
const AT_ONCE = 16;
const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 1_000;

export interface Ran {
  /** The time was over before the end: something may go on at once. */
  readonly isLeft: boolean;
  /** What could not be run for a defect. */
  readonly broken: ReadonlySet<number>;
}

/**
 * Runs the open commands of a session as far as the call's time goes: in the order of their ids queue by queue, those of
 * different queues side by side. What the table does not take is tried again and holds up nothing but its own queues.
 */
export const runCommands = async (context: Context, session: string): Promise<Ran> => {
  const run = new Run(context, session);
  await run.toTheEnd();
  return { isLeft: run.isLeft, broken: run.broken };
};

/** A command that waits or runs; of a settle, its part on one queue. */
interface Entry {
  readonly command: StoredCommand;
  readonly queue: string | undefined;
  lanes: Lanes | undefined;
  isRunning: boolean;
}

class Run {
  readonly broken = new Set<number>();
  readonly #context: Context;
  readonly #session: string;
  readonly #running = new Set<Promise<void>>();
  #entries: Entry[] = [];
  #pages: AsyncGenerator<readonly StoredCommand[]>;
  #isWholeRead = false;
  #last = 0;

  constructor(context: Context, session: string) {
    this.#context = context;
    this.#session = session;
    this.#pages = openCommands(context, session);
  }

  get isLeft(): boolean {
    return this.#isLate() && (this.#entries.length > 0 || !this.#isWholeRead);
  }

  async toTheEnd(): Promise<void> {
    for (let pauseMs = FIRST_PAUSE_MS; !this.#isLate(); ) {
      await this.#startWhatMay();
      const isIdle = this.#running.size < AT_ONCE;
      if (isIdle && !this.#isWholeRead) await this.#readOn();
      else if (this.#running.size === 0) break;
      else {
        // What comes meanwhile may be for queues that nobody is at work on; its own message waits until this run is over.
        const isFree = await Promise.race([this.#oneDone(), sleep(pauseMs, false)]);
        pauseMs = isFree ? FIRST_PAUSE_MS : Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
        if (!isFree) this.#lookAgain();
      }
    }
    await Promise.all(this.#running);
  }

  async #oneDone(): Promise<boolean> {
    await Promise.race(this.#running);
    return true;
  }

  #lookAgain(): void {
    this.#pages = openCommands(this.#context, this.#session, this.#last);
    this.#isWholeRead = false;
  }

  #isLate(): boolean {
    return this.#context.now() >= this.#context.stopAtMs;
  }

  async #readOn(): Promise<void> {
    const { value, done } = await this.#pages.next();
    if (done === true) this.#isWholeRead = true;
    else {
      this.#entries.push(...value.flatMap(entriesOf));
      this.#last = value.at(-1)?.id ?? this.#last;
    }
  }

  async #startWhatMay(): Promise<void> {
    const held = new HeldLanes();
    for (const entry of [...this.#entries]) {
      if (this.#running.size >= AT_ONCE || held.holdsAll) return;
      if (entry.isRunning) {
        if (entry.lanes !== undefined) held.hold(entry.lanes);
        continue;
      }
      if (held.block(entry.command.lanes) && entry.command.kind === "publish") {
        // Where it goes is not known before the exchange is as it will find it: nothing may pass it.
        held.holdAll();
        return;
      }
      const lanes = await this.#lanesOf(entry);
      if (held.block(lanes) || this.broken.has(entry.command.id)) {
        held.hold(lanes);
        continue;
      }
      entry.lanes = lanes;
      held.hold(lanes);
      this.#start(entry);
    }
  }

  #start(entry: Entry): void {
    entry.isRunning = true;
    const running = this.#perform(entry).finally(() => {
      this.#running.delete(running);
    });
    this.#running.add(running);
  }

  async #perform(entry: Entry): Promise<void> {
    const { id } = entry.command;
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
      try {
        await performCommand(this.#context, entry.command, entry.queue);
        this.#entries = this.#entries.filter((one) => one !== entry);
        return;
      } catch (error) {
        if (!(error instanceof Unavailable)) {
          console.error(error);
          this.broken.add(id);
          entry.isRunning = false;
          return;
        }
      }
      if (this.#context.now() + pauseMs >= this.#context.stopAtMs) {
        // It keeps its queues to itself for the rest of the run.
        return;
      }
      await sleep(pauseMs);
    }
  }

  /** The queues of a publish as it is routed now: whatever could route it otherwise comes after it, or is done. */
  async #lanesOf({ command, queue }: Entry): Promise<Lanes> {
    if (queue !== undefined) return { queues: [queue] };
    if (command.kind !== "publish") return command.lanes;
    const requested = await loadRequest(this.#context, command);
    if (requested?.request.kind !== "publish") return command.lanes;
    const { exchange, routingKey } = requested.request;
    const { router, store } = this.#context;
    const routes = (await router.route(store, exchange, routingKey, requested.messages)) ?? [];
    return {
      ...command.lanes,
      queues: [...new Set(routes.flatMap((queues) => [...queues.values()].map(({ name }) => name)))],
    };
  }
}

const entriesOf = (command: StoredCommand): readonly Entry[] => {
  const entry = { command, lanes: undefined, isRunning: false };
  if (command.kind !== "settle") return [{ ...entry, queue: undefined }];
  return command.lanes.queues.map((queue) => ({ ...entry, queue }));
};
