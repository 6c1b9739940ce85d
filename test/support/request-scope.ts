/** A request to a process inside the test: its clock, its end, and how it is cut off. */

/** One request to a process, for whoever stands between it and the table. */
export interface RequestScope {
  /** The process's name, and the number of the request in it since its last restart, from 0. */
  readonly process: string;
  readonly number: number;
  readonly lambda: string;
  /** Resolves when the handler has come to its end; never, when it was stopped. */
  readonly ended: Promise<void>;
  /** Its clock goes so much ahead of everybody's. */
  aheadMs: number;
  /** The caller gets 503 at once, as from a gateway that lost its function; the handler goes on unheard. */
  abandon(): void;
  /** As `abandon`, and the handler never goes on: neither its open calls come back nor does it make another. */
  stop(): void;
}

/** The same, for the process itself. */
export class Scope implements RequestScope {
  readonly process: string;
  readonly number: number;
  readonly lambda: string;
  readonly ended: Promise<void>;
  readonly abandoned: Promise<void>;
  aheadMs = 0;
  calls = 0;
  #isStopped = false;
  #end: () => void = () => {};
  #abandon: () => void = () => {};
  readonly #processAheadMs: () => number;

  constructor(process: string, number: number, lambda: string, processAheadMs: () => number) {
    this.#processAheadMs = processAheadMs;
    this.process = process;
    this.number = number;
    this.lambda = lambda;
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
    this.abandoned = new Promise((resolve) => {
      this.#abandon = resolve;
    });
  }

  /** How far its clock is ahead of the machine's. */
  clockMs(): number {
    return this.#processAheadMs() + this.aheadMs;
  }

  abandon(): void {
    this.#abandon();
  }

  stop(): void {
    this.#isStopped = true;
    this.#abandon();
  }

  end(): void {
    this.#end();
  }

  /** The work's result; a promise for ever once the request is stopped, before the work or while it went on. */
  async unlessStopped<T>(work: () => Promise<T>): Promise<T> {
    if (this.#isStopped) return never();
    try {
      return await work();
    } finally {
      if (this.#isStopped) await never();
    }
  }
}

const never = <T>(): Promise<T> => new Promise(() => {});
