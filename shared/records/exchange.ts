/**
 * An exchange's settings and its bindings. A binding names the lives of its exchange and its queue: what is left of an older
 * life binds nothing. Each binding lies with its exchange, and is named with its queue.
 */
import {
  type Binding,
  type BindingArguments,
  type Exchange,
  exchangeTypes,
  standardExchanges,
} from "../domain/exchange.ts";
import type { Queue, QueueRef } from "../domain/queue.ts";
import { bindingKey, bindingPrefix, exchangeKey, queueBindingKey, settingsKey } from "./keys.ts";
import { text, Unreadable, whole, wholeOrZero } from "./reading.ts";
import { absent, type Item, present, type Term, type Write } from "./write.ts";

/** `alternate`: the exchange that the new one names as its own. */
export const createExchange = (
  exchange: Exchange,
  alternate: Exchange | undefined,
  nowMs: number,
): readonly Write[] => [
  {
    kind: "put",
    key: exchangeKey(exchange.name),
    item: {
      g: exchange.generation,
      t: exchange.type,
      ...(exchange.alternateExchange !== null && { a: exchange.alternateExchange }),
      b: exchange.bindingsVersion,
      n: 0,
      c: nowMs,
    },
    require: [absent],
    otherwise: "reload",
  },
  ...countAlternate(alternate, 1),
];

export const readExchange = (name: string, item: Item): Exchange => {
  const type = exchangeTypes.find((one) => one === item.t);
  if (type === undefined) throw new Unreadable(item, "is of no known type");
  return {
    name,
    generation: text(item, "g"),
    type,
    alternateExchange: item.a === undefined ? null : text(item, "a"),
    bindingsVersion: whole(item, "b"),
  };
};

/** How many exchanges name this one as their alternate. */
export const alternatesOf = (item: Item): number => wholeOrZero(item, "n");

/** Messages that reached no queue and were dropped. */
export const unroutableOf = (item: Item): number => wholeOrZero(item, "u");

export const countUnroutable = (exchange: string, messages: number): Extract<Write, { kind: "update" }> => ({
  kind: "update",
  key: exchangeKey(exchange),
  change: { add: [[["u"], messages]] },
  require: [present],
  otherwise: "reload",
});

/** Fails while the exchange is an alternate. */
export const deleteExchange = (exchange: Exchange, alternate: Exchange | undefined): readonly Write[] => [
  {
    kind: "delete",
    key: exchangeKey(exchange.name),
    require: [isLife(exchange.generation), { is: "equal", path: ["n"], value: 0 }],
    otherwise: "reload",
  },
  ...countAlternate(alternate, -1),
];

/** Standard exchanges are never deleted: nobody has to know whose alternates they are. */
const countAlternate = (alternate: Exchange | undefined, change: 1 | -1): readonly Write[] =>
  alternate === undefined || standardExchanges.has(alternate.name)
    ? []
    : [
        {
          kind: "update",
          key: exchangeKey(alternate.name),
          change: { add: [[["n"], change]] },
          require: [isLife(alternate.generation)],
          otherwise: "reload",
        },
      ];

const isLife = (generation: string): Term => ({ is: "equal", path: ["g"], value: generation });

/** A binding as it is stored: which life of its exchange it is of. */
export interface StoredBinding extends Binding {
  readonly generation: string;
}

/** Binds a live queue to a live exchange, in the place of `before`, which is of an older life of one of them. */
export const putBinding = (
  exchange: Exchange,
  queue: Queue,
  key: string,
  given: BindingArguments,
  before: StoredBinding | undefined,
): readonly Write[] => [
  changeBindings(exchange),
  { kind: "check", key: settingsKey(queue.name), require: [isLife(queue.generation)], otherwise: "reload" },
  {
    kind: "put",
    key: bindingKey(exchange.name, key, queue.name),
    item: { g: exchange.generation, q: queue.generation, a: JSON.stringify(given) },
    require: before === undefined ? [absent] : isBinding(before),
    otherwise: "reload",
  },
  {
    kind: "put",
    key: queueBindingKey(queue.name, exchange.name, key),
    item: { g: exchange.generation, q: queue.generation },
    require: [],
    otherwise: "reload",
  },
];

export const removeBinding = (exchange: Exchange, binding: StoredBinding): readonly Write[] => [
  changeBindings(exchange),
  ...forgetBinding(binding),
];

/** Takes away a binding whose exchange or queue is gone. */
export const forgetBinding = (binding: StoredBinding): readonly Write[] => [
  {
    kind: "delete",
    key: bindingKey(binding.exchange, binding.key, binding.queue.name),
    require: isBinding(binding),
    otherwise: "reload",
  },
  {
    kind: "delete",
    key: queueBindingKey(binding.queue.name, binding.exchange, binding.key),
    require: [],
    otherwise: "reload",
  },
];

/** Whoever keeps the exchange's bindings sees by this that they are not the same any more. */
const changeBindings = (exchange: Exchange): Write => ({
  kind: "update",
  key: exchangeKey(exchange.name),
  change: { add: [[["b"], 1]] },
  require: [isLife(exchange.generation)],
  otherwise: "reload",
});

const isBinding = ({ generation, queue }: StoredBinding): readonly Term[] => [
  isLife(generation),
  { is: "equal", path: ["q"], value: queue.generation },
];

export const readBinding = (exchange: string, item: Item): StoredBinding => {
  const sk = text(item, "sk");
  const end = sk.lastIndexOf("#");
  if (!sk.startsWith(bindingPrefix) || end < bindingPrefix.length) throw new Unreadable(item, "is not a binding");
  return {
    exchange,
    key: sk.slice(bindingPrefix.length, end),
    queue: { name: sk.slice(end + 1), generation: text(item, "q") },
    arguments: JSON.parse(text(item, "a")) as BindingArguments,
    generation: text(item, "g"),
  };
};

/** A binding as its queue names it: all but its arguments. */
export const readQueueBinding = (queue: string, item: Item): StoredBinding => {
  const sk = text(item, "sk");
  const end = sk.indexOf("#", bindingPrefix.length);
  if (!sk.startsWith(bindingPrefix) || end < 0) throw new Unreadable(item, "is not a queue's binding");
  const ref: QueueRef = { name: queue, generation: text(item, "q") };
  return {
    exchange: sk.slice(bindingPrefix.length, end),
    key: sk.slice(end + 1),
    queue: ref,
    arguments: {},
    generation: text(item, "g"),
  };
};
