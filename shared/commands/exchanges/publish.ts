import type { Request } from "../../domain/command.ts";
import type { EnqueueAnswer } from "../../domain/enqueued.ts";
import type { Message } from "../../domain/message.ts";
import { type Queue, type QueueRef, queueName } from "../../domain/queue.ts";
import { type Refusal, refuse } from "../../domain/refusal.ts";
import { countUnroutable } from "../../records/exchange.ts";
import { named } from "../by-durability.ts";
import type { Context } from "../context.ts";
import { callId, type Deferred } from "../idempotency.ts";
import { eachOf } from "../payload.ts";
import { type Putting, put, type Routed, type Target } from "../put.ts";
import { ensureRecord } from "./ensure-record.ts";
import { missingExchange } from "./get.ts";
import { findExchange } from "./stored.ts";

export interface Publish extends Omit<Putting, "request"> {
  readonly exchange: string;
  readonly routingKey: string;
  /** Each message must reach a queue. */
  readonly mandatory: boolean;
}

/**
 * Puts messages on the queues that an exchange, or else its alternates, routes them to. What reaches none is dropped and
 * counted; of a mandatory publish, nothing is put then.
 */
export const publish = (context: Context, call: Publish): Promise<EnqueueAnswer | Deferred | Refusal> =>
  put(context, { ...call, request: requestOf(call) }, routeFor(context, call), (routed) =>
    countDropped(context, call.exchange, routed),
  );

const requestOf = ({ exchange, routingKey, mandatory }: Publish): Request => ({
  kind: "publish",
  exchange,
  routingKey,
  mandatory,
});

/** A message has one id wherever it goes, and however often it is routed. */
const routeFor = (context: Context, call: Publish) => {
  const id = callId(call.idempotency);
  return (fresh: boolean) => route(context, call, id, fresh);
};

const route = async (context: Context, call: Publish, id: string, fresh: boolean): Promise<Routed | Refusal> => {
  const { exchange, routingKey, mandatory } = call;
  const routes = await context.router.route(context.store, exchange, routingKey, call.messages);
  if (routes === undefined) return missingExchange(exchange);
  const queues = await liveQueues(context, routes, call.xid !== undefined, fresh);
  const reached = routes.map((refs) => [...refs.keys()].flatMap((name) => queues.get(name) ?? []));
  const lost = reached.flatMap((own, i) => (own.length === 0 ? [i] : []));
  if (mandatory && lost.length > 0) {
    const some = lost.slice(0, LISTED).map((i) => `messages[${i}]`);
    const list =
      some.length < lost.length ? `${some.join(", ")} and ${lost.length - some.length} more` : some.join(", ");
    return refuse("no-route", `exchange ${exchange} routes to no queue: ${list}`);
  }
  const messages = call.messages.map((message, i) =>
    reached[i]?.length === 1 ? message : named(message, `${id}-${i}`),
  );
  const targets = new Map<Queue, Message[]>();
  for (const [i, own] of reached.entries()) {
    const message = messages[i];
    if (message === undefined) continue;
    for (const queue of own) {
      const there = targets.get(queue);
      if (there === undefined) targets.set(queue, [message]);
      else there.push(message);
    }
  }
  return { messages, targets: [...targets].map(([queue, own]): Target => ({ queue, messages: own })) };
};

/** Messages that one refusal names. */
const LISTED = 20;

/** The queues that bindings name, as far as that life of them is not over. */
const liveQueues = async (
  context: Context,
  routes: readonly ReadonlyMap<string, QueueRef>[],
  isInBranch: boolean,
  fresh: boolean,
): Promise<ReadonlyMap<string, Queue>> => {
  const refs = new Map(routes.flatMap((refs) => [...refs]));
  const found = new Map<string, Queue>();
  await eachOf([...refs], async ([name, ref]) => {
    const queue = await findLife(context, ref, isInBranch, fresh);
    if (queue !== undefined) found.set(name, queue);
  });
  return found;
};

const findLife = async (
  context: Context,
  ref: QueueRef,
  isInBranch: boolean,
  fresh: boolean,
): Promise<Queue | undefined> => {
  // A branch keeps no tail that a deletion could have closed: it must know the queue of now.
  if (!isInBranch && !fresh) return context.settings.findLife(context.store, ref, context.now());
  const queue = isInBranch
    ? await context.settings.confirm(context.store, ref.name, context.now())
    : await context.settings.find(context.store, ref.name, context.now(), true);
  return queue !== undefined && queueName(queue) === queueName(ref) ? queue : undefined;
};

const countDropped = async (context: Context, exchange: string, { messages, targets }: Routed): Promise<void> => {
  const reached = new Set(targets.flatMap((target) => target.messages));
  const dropped = messages.length - reached.size;
  if (dropped === 0) return;
  if ((await context.store.count(countUnroutable(exchange, dropped))) !== undefined) return;
  // A standard exchange that nothing was ever bound to; another one was deleted meanwhile, with its counter.
  const found = await findExchange(context.store, exchange);
  if (found === undefined) return;
  await ensureRecord(context, found);
  await context.store.count(countUnroutable(exchange, dropped));
};
