/** What the table says of exchanges and bindings. */
import { type Exchange, standardExchange } from "../../domain/exchange.ts";
import { readBinding, readExchange, readQueueBinding, type StoredBinding } from "../../records/exchange.ts";
import { bindingPrefix, exchangeKey, exchangePk, queueBindingsPk } from "../../records/keys.ts";
import { text } from "../../records/reading.ts";
import type { Item } from "../../records/write.ts";
import type { Store } from "../../store/port.ts";

/** The exchange as it is now; a standard one is there before it has a record. */
export const findExchange = async (store: Store, name: string): Promise<Exchange | undefined> => {
  const item = await store.read(exchangeKey(name));
  return item === undefined ? standardExchange(name) : readExchange(name, item);
};

/** All bindings of an exchange, those that older lives of it or of its queues left included. */
export async function* bindingsOf(store: Store, exchange: string, after?: string): AsyncGenerator<StoredBinding> {
  for await (const item of itemsOf(store, exchangePk(exchange), after)) yield readBinding(exchange, item);
}

/** All bindings that name a queue, whichever life of it. */
export async function* bindingsTo(store: Store, queue: string): AsyncGenerator<StoredBinding> {
  for await (const item of itemsOf(store, queueBindingsPk(queue), undefined)) yield readQueueBinding(queue, item);
}

/** `$` comes right after `#`: this sorts after every binding of a partition, and before its other records. */
const END = "BINDING$";

async function* itemsOf(store: Store, pk: string, start: string | undefined): AsyncGenerator<Item> {
  let after = start;
  do {
    const page = await store.query(after === undefined ? { pk, beginsWith: bindingPrefix } : { pk, after, to: END });
    yield* page.items.filter((item) => text(item, "sk").startsWith(bindingPrefix));
    after = page.next;
  } while (after !== undefined);
}
