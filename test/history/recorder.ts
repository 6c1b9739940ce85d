import { performance } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import type { Fetch } from "../support/fetch.ts";
import type { Asked, Delivered, Entry, Told } from "./history.ts";

/** What the service answered: a body, a refusal's code, or nothing that says whether it was done. */
export type Reply = { readonly body: unknown } | { readonly refused: string } | undefined;

/** How long a caller waits that was not answered. */
const DOWN_MS = 250;

export interface Request {
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** Sends calls and notes what was asked and told. */
export class Recorder {
  readonly entries: Entry[] = [];
  readonly #fetch: Fetch;
  #next = 1;

  constructor(fetch: Fetch) {
    this.#fetch = fetch;
  }

  /** One call of `who`; `read` makes of a body what the history keeps. */
  async call<T extends Told>(
    who: string,
    asked: Asked,
    request: Request,
    read: (body: never) => T,
  ): Promise<T | { readonly refused: string } | undefined> {
    const n = this.#next++;
    const atMs = performance.now();
    const reply = await this.send(request);
    const told = reply === undefined || "refused" in reply ? reply : read(reply.body as never);
    this.entries.push({ n, who, atMs, asked, ...(told !== undefined && { untilMs: performance.now(), told }) });
    return told;
  }

  /** A drain, which is many calls and counts as one that began when the last entry was there. */
  drained(queue: string, deliveries: readonly Delivered[]): void {
    const atMs = performance.now();
    this.entries.push({
      n: this.#next++,
      who: "the end",
      atMs,
      untilMs: atMs,
      asked: { call: "drain", queue },
      told: { deliveries },
    });
  }

  note(what: string): void {
    const atMs = performance.now();
    this.entries.push({
      n: this.#next++,
      who: "chaos",
      atMs,
      untilMs: atMs,
      asked: { call: "event", what },
      told: { done: true },
    });
  }

  /** Without a note. A 5xx says nothing of what was done; a 4xx is a refusal. */
  async send({ method, path, headers, body }: Request): Promise<Reply> {
    try {
      const response = await this.#fetch(path, {
        method,
        headers: { ...headers, ...(body !== undefined && { "content-type": "application/json" }) },
        signal: AbortSignal.timeout(60_000),
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      if (response.status >= 500) return undefined;
      const parsed = text === "" ? undefined : JSON.parse(text);
      return response.status >= 400 ? { refused: String(parsed?.code) } : { body: parsed };
    } catch {
      // Nobody listens: it is being started again.
      await sleep(DOWN_MS);
      return undefined;
    }
  }
}
