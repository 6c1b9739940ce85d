/**
 * What has been answered and is not done yet: a session's open commands, and what is on its way by the command queue. It is
 * done when a run lets the worker work, and only then held against the reference.
 *
 * Who is first among several sessions, or of what comes to one queue by several ways, is nobody's promise. So that a run has
 * one right end, commands of one session are open at a time, and whatever would meet others waits until they are done.
 */
import type { Answer } from "../support/http.ts";
import type { Message, Queue, Ref } from "./values.ts";

/** Holds what a call came to against the reference, which does the same; undefined: nobody was told. */
export type Check<T> = (answer: Answer<T> | undefined) => void;

/** What a command touches beside queues, on which its session's commands run in order. */
export interface Touch {
  /** The exchange that it changes or is routed by. */
  readonly exchange?: string;
  /** It stands in the line alone: what others do to dead letters comes in no promised order with it. */
  readonly isAlone?: boolean;
}

export interface Open {
  readonly id: number;
  readonly by: Ref;
  readonly touch: Touch;
  readonly check: Check<never>;
  /** Who hears of it: the session, the call that waits for it with this answer, or nobody. */
  readonly audience: "session" | "nobody" | Promise<Answer<unknown>>;
}

interface Told {
  readonly id: number;
  readonly untilMs: number;
}

/** Completions are remembered for so long. */
const REMEMBERED_MS = 7 * 86_400_000;

export class Line {
  open: Open[] = [];
  /** Messages that need not be persisted, in the order in which they were handed on. */
  onTheWay: { readonly group: string; readonly queue: Queue; readonly messages: readonly Message[] }[] = [];
  /** By session: the highest id, and the completions that it may read. */
  readonly #ids = new Map<string, number>();
  readonly #told = new Map<string, Told[]>();

  /** The session whose commands are open. */
  get owner(): string | undefined {
    return this.open[0]?.by.name;
  }

  highest(session: string): number {
    return this.#ids.get(session) ?? 0;
  }

  /** As high as nothing is open at or below. */
  completedThrough(session: string): number {
    return this.owner === session ? (this.open[0]?.id ?? 0) - 1 : this.highest(session);
  }

  openOf(session: string): readonly string[] {
    return this.owner === session ? this.open.map(({ id }) => String(id)) : [];
  }

  told(session: string, nowMs: number): readonly number[] {
    return (this.#told.get(session) ?? []).filter(({ untilMs }) => untilMs > nowMs).map(({ id }) => id);
  }

  add(by: Ref, touch: Touch, audience: Open["audience"], check: Check<never>): number {
    const id = this.highest(by.name) + 1;
    this.#ids.set(by.name, id);
    this.open.push({ id, by, touch, check, audience });
    return id;
  }

  tell({ id, by }: Open, nowMs: number): void {
    this.#told.set(by.name, [...(this.#told.get(by.name) ?? []), { id, untilMs: nowMs + REMEMBERED_MS }]);
  }

  /** Whether a command of this session can stand behind those that are open. */
  hasPlaceFor(session: string, touch: Touch): boolean {
    const isApart = this.open.some(
      (one) =>
        one.touch.isAlone === true ||
        (touch.exchange !== undefined && one.touch.exchange !== undefined && one.touch.exchange !== touch.exchange),
    );
    if (this.onTheWay.length > 0 || (touch.isAlone === true && this.open.length > 0)) return false;
    return !isApart && (this.owner ?? session) === session;
  }
}
