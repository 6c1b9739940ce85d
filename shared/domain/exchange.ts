/** Exchanges and bindings: which queues a message goes to is theirs to say. AMQP 0-9-1's types, section 3.1.3. */
import type { HeaderValue } from "./message.ts";
import type { QueueRef } from "./queue.ts";

export const exchangeTypes = ["direct", "fanout", "topic", "headers"] as const;

export type ExchangeType = (typeof exchangeTypes)[number];

/** As `PUT /exchanges/{exchange}` takes them. */
export interface ExchangeSettings {
  readonly type: ExchangeType;
  /** Where a message goes that reaches no queue here. */
  readonly alternateExchange: string | null;
}

/** One life of an exchange's name. */
export interface Exchange extends ExchangeSettings {
  readonly name: string;
  readonly generation: string;
  /** Rises with each binding that is made or taken away. */
  readonly bindingsVersion: number;
}

/** Of a headers exchange: what a message must bring; null asks only that the header is there. `x-match` says how many. */
export type BindingArguments = Readonly<Record<string, HeaderValue | null>>;

export interface Binding {
  readonly exchange: string;
  readonly queue: QueueRef;
  readonly key: string;
  readonly arguments: BindingArguments;
}

/** They always exist, cannot be deleted and have no alternate. */
export const standardExchanges: ReadonlyMap<string, ExchangeType> = new Map([
  ["amq.direct", "direct"],
  ["amq.fanout", "fanout"],
  ["amq.topic", "topic"],
  ["amq.match", "headers"],
]);

/** A standard exchange before anything was bound to it; undefined for any other name. */
export const standardExchange = (name: string): Exchange | undefined => {
  const type = standardExchanges.get(name);
  return type && { name, generation: "standard", type, alternateExchange: null, bindingsVersion: 0 };
};

export const sameArguments = (a: BindingArguments, b: BindingArguments): boolean => {
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => Object.hasOwn(b, name) && a[name] === b[name]);
};
