import type { QueueRef } from "../../domain/queue.ts";
import { forgetBinding, type StoredBinding } from "../../records/exchange.ts";
import type { Context } from "../context.ts";
import { eachOf } from "../payload.ts";
import { bindingsTo, findExchange } from "./stored.ts";

/** Whether anything is bound to this life of a queue. */
export const isBound = async (context: Context, queue: QueueRef): Promise<boolean> => {
  for await (const binding of bindingsToLife(context, queue)) {
    const exchange = await findExchange(context.store, binding.exchange);
    if (exchange?.generation === binding.generation) return true;
  }
  return false;
};

/** Takes away what binds a queue that is deleted; false when the call's time was over before that. */
export const forgetBindingsTo = (context: Context, queue: QueueRef): Promise<boolean> =>
  forgetBindings(context, bindingsToLife(context, queue));

async function* bindingsToLife(context: Context, queue: QueueRef): AsyncGenerator<StoredBinding> {
  for await (const binding of bindingsTo(context.store, queue.name)) {
    if (binding.queue.generation === queue.generation) yield binding;
  }
}

/** Takes bindings away whose exchange or queue is gone; false when the call's time was over before that. */
export const forgetBindings = async (context: Context, bindings: AsyncIterable<StoredBinding>): Promise<boolean> => {
  const gone: StoredBinding[] = [];
  for await (const binding of bindings) gone.push(binding);
  let isDone = true;
  await eachOf(gone, async (binding) => {
    isDone &&= context.now() < context.stopAtMs;
    if (isDone) await context.store.commit(forgetBinding(binding));
  });
  return isDone;
};
