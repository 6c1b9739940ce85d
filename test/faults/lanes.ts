/** So many lanes; whoever wants one waits until one is free. */
import type { InProcessService } from "../support/in-process.ts";
import { Lane } from "./lane.ts";

export class Lanes {
  readonly #service: InProcessService;
  readonly #free: Lane[] = [];
  readonly #waiting: ((lane: Lane) => void)[] = [];
  readonly #most: number;
  #opened = 0;

  constructor(service: InProcessService, most: number) {
    this.#service = service;
    this.#most = most;
  }

  async use<T>(work: (lane: Lane) => Promise<T>): Promise<T> {
    const lane = await this.#take();
    try {
      return await work(lane);
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free.push(lane);
      else next(lane);
    }
  }

  async #take(): Promise<Lane> {
    const free = this.#free.pop();
    if (free !== undefined) return free;
    if (this.#opened < this.#most) {
      this.#opened += 1;
      return Lane.open(this.#service, this.#opened);
    }
    return new Promise((resolve) => this.#waiting.push(resolve));
  }
}
