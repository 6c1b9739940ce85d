/** From an exchange's bindings to a function that says where a message goes: built once, asked for each message. */
import type { Binding, BindingArguments, ExchangeType } from "./exchange.ts";
import type { HeaderValue } from "./message.ts";
import { type QueueRef, queueName } from "./queue.ts";

/** What an exchange looks at in a message. */
export interface Routed {
  readonly routingKey: string;
  readonly headers: Readonly<Record<string, HeaderValue>>;
}

/** The queues of one message, each once however many bindings match, by `queueName`. */
export type Route = (message: Routed) => ReadonlyMap<string, QueueRef>;

export const routeOf = (type: ExchangeType, bindings: readonly Binding[]): Route => {
  switch (type) {
    case "direct":
      return direct(bindings);
    case "fanout": {
      const all = queuesOf(bindings);
      return () => all;
    }
    case "topic":
      return topic(bindings);
    case "headers":
      return headers(bindings);
  }
};

const none: ReadonlyMap<string, QueueRef> = new Map();

const queuesOf = (bindings: readonly Binding[]): ReadonlyMap<string, QueueRef> =>
  new Map(bindings.map(({ queue }) => [queueName(queue), queue]));

const direct = (bindings: readonly Binding[]): Route => {
  const byKey = Map.groupBy(bindings, ({ key }) => key);
  const queues = new Map([...byKey].map(([key, of]) => [key, queuesOf(of)]));
  return ({ routingKey }) => queues.get(routingKey) ?? none;
};

/** Where the words of a topic key have led so far. */
interface Node {
  readonly next: Map<string, Node>;
  /** `*`: exactly one word. */
  one?: Node;
  /** `#`: any number of words, none included. */
  many?: Node;
  readonly queues: QueueRef[];
}

const newNode = (): Node => ({ next: new Map(), queues: [] });

const topic = (bindings: readonly Binding[]): Route => {
  const root = newNode();
  for (const { key, queue } of bindings) nodeFor(root, wordsOf(key)).queues.push(queue);
  return ({ routingKey }) => {
    const words = wordsOf(routingKey);
    const found = new Map<string, QueueRef>();
    // A node is looked at once for each word it may stand before: `#` after `#` would otherwise try every split.
    const seen = new Map<Node, Set<number>>();
    const walk = (node: Node, at: number): void => {
      const before = seen.get(node) ?? new Set();
      if (before.has(at)) return;
      seen.set(node, before.add(at));
      const word = words[at];
      if (word === undefined) for (const queue of node.queues) found.set(queueName(queue), queue);
      else {
        const next = node.next.get(word);
        if (next !== undefined) walk(next, at + 1);
        if (node.one !== undefined) walk(node.one, at + 1);
      }
      if (node.many !== undefined) for (let i = at; i <= words.length; i += 1) walk(node.many, i);
    };
    walk(root, 0);
    return found;
  };
};

/** The empty key has no word at all. */
const wordsOf = (key: string): readonly string[] => (key === "" ? [] : key.split("."));

const nodeFor = (root: Node, words: readonly string[]): Node => {
  let node = root;
  for (const word of words) {
    if (word === "*") node = node.one ??= newNode();
    else if (word === "#") node = node.many ??= newNode();
    else {
      const next = node.next.get(word) ?? newNode();
      node.next.set(word, next);
      node = next;
    }
  }
  return node;
};

const headers = (bindings: readonly Binding[]): Route => {
  const wanted = bindings.map(({ arguments: given, queue }) => ({ ...matchOf(given), queue }));
  return (message) => {
    const found = new Map<string, QueueRef>();
    for (const { isAny, terms, queue } of wanted) {
      const matches = ([name, value]: Term) =>
        Object.hasOwn(message.headers, name) && (value === null || message.headers[name] === value);
      if (isAny ? terms.some(matches) : terms.every(matches)) found.set(queueName(queue), queue);
    }
    return found;
  };
};

type Term = readonly [name: string, value: HeaderValue | null];

/** Arguments that begin with `x-` speak to the exchange, not of the message. */
const matchOf = (given: BindingArguments): { readonly isAny: boolean; readonly terms: readonly Term[] } => ({
  isAny: given["x-match"] === "any",
  terms: Object.entries(given).filter(([name]) => !name.startsWith("x-")),
});
