import type { BindingRef } from "../../domain/command.ts";
import { type BindingArguments, sameArguments } from "../../domain/exchange.ts";
import { type Refusal, refuse } from "../../domain/refusal.ts";
import { putBinding, readBinding } from "../../records/exchange.ts";
import { bindingKey } from "../../records/keys.ts";
import { Unavailable } from "../../store/port.ts";
import { besideOf } from "../beside.ts";
import type { Context } from "../context.ts";
import { ensureRecord } from "./ensure-record.ts";
import { missingExchange } from "./get.ts";
import { findExchange } from "./stored.ts";

export interface Bind extends BindingRef {
  readonly arguments: BindingArguments;
}

/** How often a bind begins anew because its exchange, its queue or the binding moved. */
const ROUNDS = 20;

/** Binds a queue to an exchange; the same binding again changes nothing, with other arguments it is refused. */
export const bind = async (context: Context, wanted: Bind): Promise<{ readonly isNew: boolean } | Refusal> => {
  for (let round = 0; round < ROUNDS; round++) {
    const [exchange, queue, item] = await Promise.all([
      findExchange(context.store, wanted.exchange),
      context.settings.find(context.store, wanted.queue, context.now(), true),
      context.store.read(bindingKey(wanted.exchange, wanted.key, wanted.queue)),
    ]);
    if (exchange === undefined) return missingExchange(wanted.exchange);
    if (queue === undefined) return refuse("not-found", `queue ${wanted.queue} does not exist`);
    const before = item && readBinding(wanted.exchange, item);
    if (before?.generation === exchange.generation && before.queue.generation === queue.generation) {
      return sameArguments(before.arguments, wanted.arguments)
        ? { isNew: false }
        : refuse("precondition-failed", `queue ${queue.name} is bound by this key with other arguments`);
    }
    const { arguments: given, ...binding } = wanted;
    const writes = putBinding(exchange, queue, wanted.key, given, before);
    const beside = besideOf(context, { kind: "bound", binding, arguments: given, isNew: true });
    if ((await context.store.commit([...writes, ...beside])).done) return { isNew: true };
    await ensureRecord(context, exchange);
  }
  throw new Unavailable(`binding ${wanted.queue} to ${wanted.exchange} meets others at every attempt`);
};
