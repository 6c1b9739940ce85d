import { standardExchanges } from "../../domain/exchange.ts";
import { type Refusal, refuse } from "../../domain/refusal.ts";
import { alternatesOf, deleteExchange as deletion, readExchange, type StoredBinding } from "../../records/exchange.ts";
import { exchangeKey } from "../../records/keys.ts";
import { Unavailable } from "../../store/port.ts";
import { besideOf } from "../beside.ts";
import type { Context } from "../context.ts";
import { forgetBindings } from "./forget-bindings.ts";
import { missingExchange } from "./get.ts";
import { bindingsOf, findExchange } from "./stored.ts";

/** How often it begins anew because its alternates changed. */
const ROUNDS = 20;

/** Deletes the exchange at once; then its bindings go, which bind nothing any more. */
export const deleteExchange = async (context: Context, name: string): Promise<Refusal | undefined> => {
  if (standardExchanges.has(name)) return refuse("not-allowed", `exchange ${name} is a standard one`);
  for (let round = 0; round < ROUNDS; round++) {
    const item = await context.store.read(exchangeKey(name));
    // A repeated delete also brings to its end what the first one began.
    if (item === undefined) return (await forget(context, name)) ?? missingExchange(name);
    if (alternatesOf(item) > 0) return refuse("not-allowed", `exchange ${name} is an alternate exchange`);
    const exchange = readExchange(name, item);
    const alternate =
      exchange.alternateExchange === null ? undefined : await findExchange(context.store, exchange.alternateExchange);
    const writes = [...deletion(exchange, alternate), ...besideOf(context, { kind: "deleted" })];
    if ((await context.store.commit(writes)).done) return forget(context, name);
  }
  throw new Unavailable(`exchange ${name} changes at every attempt`);
};

const forget = async (context: Context, name: string): Promise<undefined> => {
  const exchange = await findExchange(context.store, name);
  if (!(await forgetBindings(context, deadBindings(context, name, exchange?.generation)))) {
    throw new Unavailable(`the deletion of exchange ${name} goes on`);
  }
};

/** Those that are not of the life that the name has now. */
async function* deadBindings(
  context: Context,
  name: string,
  generation: string | undefined,
): AsyncGenerator<StoredBinding> {
  for await (const binding of bindingsOf(context.store, name)) if (binding.generation !== generation) yield binding;
}
