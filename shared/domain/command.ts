/**
 * Asynchronous commands of a session: what is asked, what it comes to, and which must wait for which. Commands run in the
 * order of their ids queue by queue: two that touch the same queue one after the other, all others side by side.
 */
import { parseDelivery } from "./delivery.ts";
import type { EnqueueAnswer } from "./enqueued.ts";
import type { BindingArguments, ExchangeSettings, ExchangeType } from "./exchange.ts";
import type { QueueSettings } from "./queue.ts";
import type { Refusal } from "./refusal.ts";
import type { SettleOutcome } from "./run.ts";

export type SettleVerb = "accept" | "release" | "reject";

/** What is asked. The messages of enqueue and publish stand beside it. */
export type Request =
  | { readonly kind: "enqueue"; readonly queue: string }
  | { readonly kind: "publish"; readonly exchange: string; readonly routingKey: string; readonly mandatory: boolean }
  | {
      readonly kind: "settle";
      readonly verb: SettleVerb;
      readonly deliveryIds: readonly string[];
      readonly delaySeconds: number;
      readonly reason?: string;
    }
  | { readonly kind: "declare-queue"; readonly queue: string; readonly settings: QueueSettings }
  | { readonly kind: "delete-queue"; readonly queue: string; readonly ifEmpty: boolean; readonly ifUnused: boolean }
  | { readonly kind: "declare-exchange"; readonly exchange: string; readonly settings: ExchangeSettings }
  | { readonly kind: "delete-exchange"; readonly exchange: string }
  | { readonly kind: "bind"; readonly binding: BindingRef; readonly arguments: BindingArguments }
  | { readonly kind: "unbind"; readonly binding: BindingRef };

export interface BindingRef {
  readonly exchange: string;
  readonly queue: string;
  readonly key: string;
}

/** What it came to: as much as its answer is made of. */
export type Result =
  | { readonly kind: "enqueued"; readonly answer: EnqueueAnswer }
  | {
      readonly kind: "settled";
      readonly verb: SettleVerb | "extend";
      readonly deliveryIds: readonly string[];
      readonly outcomes: readonly SettleOutcome[];
    }
  | {
      readonly kind: "queue-declared";
      readonly queue: string;
      readonly settings: QueueSettings;
      readonly isNew: boolean;
    }
  | {
      readonly kind: "exchange-declared";
      readonly exchange: string;
      readonly type: ExchangeType;
      readonly alternateExchange: string | null;
      readonly isNew: boolean;
    }
  | {
      readonly kind: "bound";
      readonly binding: BindingRef;
      readonly arguments: BindingArguments;
      readonly isNew: boolean;
    }
  | { readonly kind: "deleted" };

/** Whether anybody is to be told what a command comes to: the session, one call that waits for it, or nobody. */
export type Audience = "session" | "call" | "nobody";

/** What is over once and for all of a command that is still open. */
export interface Progress {
  /** Of an enqueue: decided, with this answer; `branch` applies it where it was too large for one commit. */
  readonly answer?: EnqueueAnswer;
  readonly branch?: string;
  /** Of a settle: the outcomes of the deliveries of each run, by the run's number among those named. */
  readonly outcomes?: Readonly<Record<string, readonly SettleOutcome[]>>;
}

/** What a completion says: a result, or the refusal. */
export type Outcome = Result | Refusal;

/** What a command touches: it waits for earlier ones that touch the same. */
export interface Lanes {
  /** Queues whose messages it puts or settles. */
  readonly queues: readonly string[];
  /** Queues that it makes, deletes, or needs to be there. */
  readonly names: readonly string[];
  /** Exchanges whose bindings say where it goes. */
  readonly routes: readonly string[];
  /** Exchanges that it changes, or needs as they are. */
  readonly changes: readonly string[];
}

const nothing: Lanes = { queues: [], names: [], routes: [], changes: [] };

/** The lanes that a request names; publishes touch queues as well, and alternates may be touched that no request names. */
export const lanesOf = (request: Request): Lanes => {
  switch (request.kind) {
    case "enqueue":
      return { ...nothing, queues: [request.queue] };
    case "declare-queue":
    case "delete-queue":
      return { ...nothing, queues: [request.queue], names: [request.queue] };
    case "publish":
      return { ...nothing, routes: [request.exchange] };
    case "settle": {
      const queues = request.deliveryIds.flatMap((id) => parseDelivery(id)?.run.name ?? []);
      return { ...nothing, queues: [...new Set(queues)] };
    }
    case "declare-exchange": {
      const { alternateExchange } = request.settings;
      return { ...nothing, changes: [request.exchange, ...(alternateExchange === null ? [] : [alternateExchange])] };
    }
    case "delete-exchange":
      return { ...nothing, changes: [request.exchange] };
    case "bind":
    case "unbind":
      return { ...nothing, names: [request.binding.queue], changes: [request.binding.exchange] };
  }
};

/** The lanes of the part of a settle that one queue has. */
export const laneOfQueue = (queue: string): Lanes => ({ ...nothing, queues: [queue] });

/** The lanes that open commands hold, for whatever comes after them. */
export class HeldLanes {
  readonly #queues = new Set<string>();
  readonly #names = new Set<string>();
  readonly #routes = new Set<string>();
  readonly #changes = new Set<string>();

  /** Whether the exchange is to be changed: how it routes is not known before. */
  changes(exchange: string): boolean {
    return this.#changes.has(exchange);
  }

  /** Whether a command must wait. Publishes by one exchange go side by side; changes of it go alone. */
  block({ queues, names, routes, changes }: Lanes): boolean {
    return (
      queues.some((queue) => this.#queues.has(queue)) ||
      names.some((queue) => this.#names.has(queue)) ||
      routes.some((exchange) => this.#changes.has(exchange)) ||
      changes.some((exchange) => this.#changes.has(exchange) || this.#routes.has(exchange))
    );
  }

  hold({ queues, names, routes, changes }: Lanes): void {
    for (const queue of queues) this.#queues.add(queue);
    for (const queue of names) this.#names.add(queue);
    for (const exchange of routes) this.#routes.add(exchange);
    for (const exchange of changes) this.#changes.add(exchange);
  }
}
