import { setTimeout as sleep } from "node:timers/promises";
import { HeldLanes } from "../../domain/command.ts";
import { Unavailable } from "../../store/port.ts";
import type { Context } from "../context.ts";
import { type Entry, entriesOf, LaneFinder } from "./entries.ts";
import { type Opened, openCommands } from "./open-commands.ts";
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

class Run {
  readonly broken = new Set<number>();
  readonly #context: Context;
  readonly #session: string;
  readonly #laneFinder: LaneFinder;
  readonly #running = new Set<Promise<void>>();
  #entries: readonly Entry[] = [];
  #pages: AsyncGenerator<readonly Opened[]>;
  #isWholeRead = false;
  #last = 0;

  constructor(context: Context, session: string) {
    this.#context = context;
    this.#session = session;
    this.#laneFinder = new LaneFinder(context);
    this.#pages = openCommands(context, session);
  }

  get isLeft(): boolean {
    return this.#isLate() && (this.#entries.length > 0 || !this.#isWholeRead);
  }

  async toTheEnd(): Promise<void> {
    try {
      for (let pauseMs = FIRST_PAUSE_MS; !this.#isLate(); ) {
        const isFree = await this.#step(pauseMs);
        if (isFree === undefined) return;
        pauseMs = isFree ? FIRST_PAUSE_MS : Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
      }
    } finally {
      await Promise.all(this.#running);
    }
  }

  /** Answers whether anything came of it; undefined when nothing is left that may run. */
  async #step(pauseMs: number): Promise<boolean | undefined> {
    await this.#startWhatMay();
    if (this.#running.size < AT_ONCE && !this.#isWholeRead) {
      await this.#readOn();
      return true;
    }
    const isWaiting = this.#entries.some(({ id, retryAtMs }) => retryAtMs > 0 && !this.broken.has(id));
    if (this.#running.size === 0 && !isWaiting) return undefined;
    const isFree = await Promise.race([this.#oneDone(), sleep(pauseMs, false)]);
    // What comes meanwhile may be for queues that nobody is at work on; its own message waits until this run is over.
    if (!isFree) {
      this.#pages = openCommands(this.#context, this.#session, this.#last);
      this.#isWholeRead = false;
    }
    return isFree;
  }

  async #oneDone(): Promise<boolean> {
    if (this.#running.size === 0) return new Promise(() => {});
    await Promise.race(this.#running);
    return true;
  }

  #isLate(): boolean {
    return this.#context.now() >= this.#context.stopAtMs;
  }

  async #readOn(): Promise<void> {
    try {
      const { value, done } = await this.#pages.next();
      if (done === true) {
        this.#isWholeRead = true;
        return;
      }
      for (const { id, command } of value) {
        this.#last = id;
        if (command === undefined) this.broken.add(id);
      }
      this.#entries = [...this.#entries, ...value.flatMap(entriesOf)];
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
      await this.#pause();
      this.#pages = openCommands(this.#context, this.#session, this.#last);
    }
  }

  /** The table is out of reach for what all of them need. */
  async #pause(): Promise<void> {
    if (this.#context.now() + LONGEST_PAUSE_MS < this.#context.stopAtMs) await sleep(FIRST_PAUSE_MS * 5);
    else await sleep(LONGEST_PAUSE_MS);
  }

  async #startWhatMay(): Promise<void> {
    const held = new HeldLanes();
    for (const entry of this.#entries) {
      if (this.#running.size >= AT_ONCE) return;
      const nowMs = this.#context.now();
      const isResting = entry.isRunning || entry.retryAtMs > nowMs || this.broken.has(entry.id);
      const lanes = isResting ? entry.lanes : await this.#lanesToStart(entry, held);
      // Nobody knows what it touches: nothing may pass it.
      if (lanes === undefined) return;
      const mayStart = !isResting && !held.block(lanes);
      held.hold(lanes);
      if (mayStart) this.#start(entry);
    }
  }

  /** Of a publish they are known when its exchange is as it will find it. */
  async #lanesToStart(entry: Entry, held: HeldLanes) {
    try {
      return await this.#laneFinder.lanesOf(entry, held);
    } catch (error) {
      if (!(error instanceof Unavailable)) this.#breaks(entry, error);
      else entry.retryAtMs = this.#context.now() + FIRST_PAUSE_MS * 5;
      return undefined;
    }
  }

  #start(entry: Entry): void {
    entry.isRunning = true;
    const running = this.#perform(entry).finally(() => {
      entry.isRunning = false;
      this.#running.delete(running);
    });
    this.#running.add(running);
  }

  async #perform(entry: Entry): Promise<void> {
    if (entry.command === undefined) throw new Error("what cannot be read is not started");
    try {
      await performCommand(this.#context, entry.command, entry.queue);
      this.#entries = this.#entries.filter((one) => one !== entry);
      if (entry.command.lanes.changes.length > 0) this.#laneFinder.forget();
    } catch (error) {
      if (!(error instanceof Unavailable)) return this.#breaks(entry, error);
      // Its queues are its own until then; the place is free for others.
      entry.pauseMs = Math.min(Math.max(entry.pauseMs * 2, FIRST_PAUSE_MS), LONGEST_PAUSE_MS);
      entry.retryAtMs = this.#context.now() + entry.pauseMs;
    }
  }

  #breaks(entry: Entry, error: unknown): void {
    console.error(error);
    this.broken.add(entry.id);
  }
}
