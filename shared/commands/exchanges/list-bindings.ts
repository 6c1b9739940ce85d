import type { Binding } from "../../domain/exchange.ts";
import { ANSWER_BYTES } from "../../domain/limits.ts";
import { type QueueRef, queueName } from "../../domain/queue.ts";
import type { Refusal } from "../../domain/refusal.ts";
import { bindingPrefix, settingsKey } from "../../records/keys.ts";
import { readQueue } from "../../records/queue.ts";
import type { Context } from "../context.ts";
import { missingExchange } from "./get.ts";
import { bindingsOf, findExchange } from "./stored.ts";

export interface BindingsWanted {
  readonly limit: number;
  /** The sort key to go on after, from the page before. */
  readonly after?: string | undefined;
}

/** An exchange's bindings by their keys; `next` says where to go on when there may be more. */
export const listBindings = async (
  context: Context,
  name: string,
  { limit, after }: BindingsWanted,
): Promise<{ readonly bindings: readonly Binding[]; readonly next?: string } | Refusal> => {
  const exchange = await findExchange(context.store, name);
  if (exchange === undefined) return missingExchange(name);
  const bindings: Binding[] = [];
  let next: string | undefined;
  let isMore = false;
  let bytes = 0;
  for await (const binding of bindingsOf(context.store, name, after)) {
    bytes += bytesOf(binding);
    isMore = bindings.length === limit || (bindings.length > 0 && bytes > ANSWER_BYTES);
    if (isMore) break;
    next = `${bindingPrefix}${binding.key}#${binding.queue.name}`;
    if (binding.generation === exchange.generation) bindings.push(binding);
  }
  const alive = await liveQueues(
    context,
    bindings.map(({ queue }) => queue),
  );
  return {
    bindings: bindings.filter(({ queue }) => alive.has(queueName(queue))),
    ...(isMore && next !== undefined && { next }),
  };
};

/** Of one binding in the answer, beside what it says: names of fields. */
const FORM_BYTES = 60;

const bytesOf = ({ queue, key, arguments: given }: Binding): number =>
  FORM_BYTES + queue.name.length + Buffer.byteLength(JSON.stringify(key)) + Buffer.byteLength(JSON.stringify(given));

const liveQueues = async (context: Context, refs: readonly QueueRef[]): Promise<ReadonlySet<string>> => {
  const names = [...new Set(refs.map(({ name }) => name))];
  const items = await context.store.readAll(names.map(settingsKey));
  return new Set(
    names.flatMap((name, i) => {
      const item = items[i];
      return item === undefined ? [] : [queueName(readQueue(name, item))];
    }),
  );
};
