/** Makes one fault happen to one call of a request, and keeps the calls that the request makes. */
import type { InProcess, OnAttempt, OnCall, SdkCall } from "../support/in-process.ts";
import type { Deliveries } from "../support/workers.ts";
import type { Random } from "./errors.ts";
import { type Fault, isOrdinaryRead, type Struck } from "./fault.ts";
import type { Lane } from "./lane.ts";
import type { Recorded } from "./operation.ts";
import type { End } from "./play.ts";

/** A call as it was made: `index` among those of its request, or of all that the workers did. */
export interface Seen extends Pick<SdkCall, "operation" | "input"> {
  readonly index: number;
  /** Among those of its kind, whose order does not depend on how fast others are answered. */
  readonly nth: number;
  /** It read, and found nothing. */
  isEmpty: boolean;
}

export class Injection {
  readonly calls: Seen[] = [];
  /** The call that is struck, once it is made. */
  #struckCall: SdkCall | undefined;
  readonly #target: Target | undefined;
  readonly #fault: Fault | undefined;
  readonly #context: Context;
  readonly #counts = new Map<string, number>();
  readonly #open = new Set<Promise<unknown>>();
  readonly #successor: (() => Promise<unknown>)[] = [];
  readonly #retry: (() => Promise<unknown>)[] = [];

  /** Without a target no call is struck, nor when fewer of its kind are made. */
  constructor(context: Context, fault?: Fault, target?: Target) {
    this.#context = context;
    this.#fault = fault;
    this.#target = target;
  }

  get isStruck(): boolean {
    return this.#struckCall !== undefined;
  }

  /** From now on, until its restart, the process is struck. */
  into(process: InProcess): void {
    process.onCall = this.#onCall;
    if (this.#fault !== undefined) process.onAttempt = this.#onAttempt;
  }

  /** When every call that was sent has been answered, and what was to follow the struck one has followed. */
  async settled(): Promise<void> {
    while (this.#open.size > 0) await Promise.allSettled(this.#open);
    await unheard(this.#successor);
  }

  /** How often each message is delivered to the workers. */
  get deliveries(): Deliveries {
    return this.#fault?.deliveries ?? "once";
  }

  /** Whether a call is struck at all. */
  get isFaulty(): boolean {
    return this.#fault !== undefined;
  }

  /** Whether nothing is to follow when the client has repeated what it was not answered. */
  get isOver(): boolean {
    return this.#retry.length === 0;
  }

  /** The client has repeated what it was not answered. */
  async retried(): Promise<void> {
    await unheard(this.#retry);
  }

  readonly #onCall: OnCall = async (call, next) => {
    if (!this.#isMeant(call)) return next();
    const { operation, input } = call;
    const kind = kindOf(call);
    const nth = this.#counts.get(kind) ?? 0;
    this.#counts.set(kind, nth + 1);
    const seen: Seen = { index: this.calls.length, nth, operation, input, isEmpty: false };
    this.calls.push(seen);
    const sent = async () => {
      const answer = await this.#keep(next());
      seen.isEmpty = isEmpty(operation, answer);
      return answer;
    };
    const isBefore = this.isStruck;
    if (this.#target !== undefined && nth === this.#target.nth && kind === kindOf(this.#target)) {
      this.#struckCall = call;
      return this.#fault?.aroundCall?.(this.#struck(call), sent) ?? sent();
    }
    const answer = await sent();
    if (isBefore) await unheard(this.#successor);
    return answer;
  };

  readonly #onAttempt: OnAttempt = (call, attempt, send) => {
    const around = call === this.#struckCall ? this.#fault?.aroundAttempt : undefined;
    return around === undefined ? send() : around(this.#struck(call), attempt, send);
  };

  /** Of the request, or of the function that runs in place of one. */
  #isMeant({ request: { lambda } }: SdkCall): boolean {
    const { route } = this.#context.recorded.operation;
    return route.includes(" ") ? !lambda.startsWith("worker/") : lambda === route;
  }

  #keep<T>(sent: Promise<T>): Promise<T> {
    const done = () => this.#open.delete(sent);
    this.#open.add(sent);
    sent.then(done, done);
    return sent;
  }

  #struck(call: SdkCall): Struck {
    const { lane, recorded, random } = this.#context;
    return {
      call,
      random,
      stop() {
        call.request.stop();
        return new Promise(() => {});
      },
      land: async (isForgotten = false) => ({ output: await lane.land(call, isForgotten), response: {} }),
      afterSuccessor: (work) => this.#successor.push(work),
      afterRetry: (work) => this.#retry.push(work),
      readPast: async (which) => ({ output: await lane.readPast(call, which, recorded), response: {} }),
      pass: (ms) => lane.pass(ms),
      deleteEnded: () => lane.deleteEnded(),
    };
  }
}

/** Which call is to be struck: of what kind, and which of them. */
export type Target = Pick<Seen, "operation" | "input" | "nth">;

const kindOf = ({ operation, input }: Pick<SdkCall, "operation" | "input">): string =>
  `${operation} ${isOrdinaryRead({ operation, input })}`;

export interface Context {
  readonly lane: Lane;
  readonly recorded: Recorded;
  readonly random: Random;
  /** What followed the crash, by the state that it left: with all that the rest of a case depends on. */
  readonly ends: Map<string, Promise<End>>;
}

const isEmpty = (operation: string, answer: object): boolean => {
  const { output } = answer as { readonly output?: { readonly Count?: number; readonly Item?: object } };
  return output?.Count === 0 || (operation === "GetItem" && output?.Item === undefined);
};

const unheard = async (all: (() => Promise<unknown>)[]): Promise<void> => {
  for (const work of all.splice(0)) await Promise.allSettled([work()]);
};
