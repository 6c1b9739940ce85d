/**
 * Concurrent operations, one step at a time: each operation has a process of the service to itself, every SDK call that the
 * process makes is held until it is chosen, and the next one is chosen when all operations stand still.
 */
import { setImmediate as turn } from "node:timers/promises";
import type { InProcess } from "../support/in-process.ts";
import type { Choose, Step } from "./explore.ts";
import { type Footprint, footprintOf, textOfFootprint } from "./footprint.ts";

/** Does something when it is its turn; `touches` says what its order may matter to. */
export type InTurn = (what: string, touches: Footprint, work: () => void) => Promise<void>;

/** What one caller does: requests to its own process, one after the other, and steps of its own. */
export interface Operation {
  readonly name: string;
  readonly process: InProcess;
  readonly work: (inTurn: InTurn) => Promise<void>;
}

/** What was done, in order, for whoever reads a failure. */
export type Notes = string[];

/** An operation that begins no step for so long hangs. */
const STUCK_MS = 20_000;

/** Runs operations to their end, in the order of `choose`. */
export const inTurns = async (operations: readonly Operation[], choose: Choose, notes: Notes = []): Promise<void> => {
  const stage = new Stage(operations);
  try {
    for (;;) {
      await stage.standstill();
      const open = stage.open();
      if (open.length === 0) break;
      const step = choose(open);
      notes.push(stage.take(step));
    }
    await stage.ended;
  } finally {
    stage.clear();
  }
};

interface Held {
  readonly step: Step;
  readonly what: string;
  readonly release: () => void;
}

class Stage {
  readonly ended: Promise<unknown>;
  readonly #operations: readonly Operation[];
  readonly #running: Set<string>;
  #held: Held[] = [];
  #begun = new Map<string, number>();
  /** Steps that were released and have not come to their end. */
  #moving = 0;
  #wake: () => void = () => {};

  constructor(operations: readonly Operation[]) {
    this.#operations = operations;
    this.#running = new Set(operations.map(({ name }) => name));
    for (const { name, process } of operations) {
      process.onCall = (call, next) => {
        const touches = footprintOf(call.operation, call.input);
        return this.#hold(name, `${call.operation} ${textOfFootprint(touches)}`, touches, next);
      };
    }
    this.ended = Promise.all(
      operations.map(async ({ name, work }) => {
        try {
          await work((what, touches, act) => this.#hold(name, what, touches, async () => act()));
        } finally {
          this.#running.delete(name);
          this.#wake();
        }
      }),
    );
    this.ended.catch(() => {});
  }

  /** The steps that could be taken: by operation, in the order in which they began. */
  open(): readonly Step[] {
    return this.#operations.flatMap(({ name }) =>
      this.#held.filter(({ step }) => step.operation === name).map(({ step }) => step),
    );
  }

  take(step: Step): string {
    const held = this.#held.find((one) => one.step === step);
    if (held === undefined) throw new Error("the step is not ready");
    this.#held = this.#held.filter((one) => one !== held);
    this.#moving += 1;
    held.release();
    return `${step.operation}.${step.index} ${held.what}`;
  }

  /** Resolves when every operation has come to its end or waits for a step, and none is under way. */
  async standstill(): Promise<void> {
    for (;;) {
      // What goes on after an answer, without another call, has come to its next one by then.
      await turn();
      await turn();
      if (this.#moving === 0 && this.#waiting().length === 0) return;
      await this.#change();
    }
  }

  clear(): void {
    for (const { process } of this.#operations) process.onCall = undefined;
    for (const { release } of this.#held) release();
    this.#held = [];
  }

  /** Operations that neither are over nor have a step ready: their answer is on its way, or they sleep for a moment. */
  #waiting(): readonly string[] {
    return [...this.#running].filter((name) => !this.#held.some(({ step }) => step.operation === name));
  }

  async #hold<T>(operation: string, what: string, touches: Footprint, work: () => Promise<T>): Promise<T> {
    const index = this.#begun.get(operation) ?? 0;
    this.#begun.set(operation, index + 1);
    await new Promise<void>((release) => {
      this.#held.push({ step: { operation, index, touches }, what, release });
      this.#wake();
    });
    try {
      return await work();
    } finally {
      this.#moving -= 1;
      this.#wake();
    }
  }

  async #change(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const changed = new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
    const stuck = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(`stuck: ${this.#waiting().join(", ")} went nowhere`)), STUCK_MS);
    });
    try {
      await Promise.race([changed, stuck]);
    } finally {
      clearTimeout(timer);
      this.#wake = () => {};
    }
  }
}
