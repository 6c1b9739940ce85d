import type { BindingRef } from "../../domain/command.ts";
import { type Refusal, refuse } from "../../domain/refusal.ts";
import { readBinding, removeBinding } from "../../records/exchange.ts";
import { bindingKey } from "../../records/keys.ts";
import { Unavailable } from "../../store/port.ts";
import { besideOf } from "../beside.ts";
import type { Context } from "../context.ts";
import { missingExchange } from "./get.ts";
import { findExchange } from "./stored.ts";

/** How often it begins anew because the binding moved. */
const ROUNDS = 20;

/** Takes one binding away. What was routed by it stays where it is. */
export const unbind = async (
  context: Context,
  { exchange: name, queue, key }: BindingRef,
): Promise<Refusal | undefined> => {
  for (let round = 0; round < ROUNDS; round++) {
    const [exchange, item] = await Promise.all([
      findExchange(context.store, name),
      context.store.read(bindingKey(name, key, queue)),
    ]);
    if (exchange === undefined) return missingExchange(name);
    const binding = item && readBinding(name, item);
    if (binding === undefined || binding.generation !== exchange.generation) {
      return refuse("not-found", `queue ${queue} is not bound to exchange ${name} by this key`);
    }
    const writes = [...removeBinding(exchange, binding), ...besideOf(context, { kind: "deleted" })];
    if ((await context.store.commit(writes)).done) return undefined;
  }
  throw new Unavailable(`unbinding ${queue} from ${name} meets others at every attempt`);
};
