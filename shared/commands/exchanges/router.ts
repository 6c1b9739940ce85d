/**
 * Exchanges with their bindings, kept from call to call. The bindings are many and change seldom, the exchange's record is
 * small and counts their changes: it is read for each publish, so that what was bound before a publish is never missed.
 */
import type { Exchange } from "../../domain/exchange.ts";
import type { Message } from "../../domain/message.ts";
import type { QueueRef } from "../../domain/queue.ts";
import { type Route, routeOf } from "../../domain/routing.ts";
import type { StoredBinding } from "../../records/exchange.ts";
import { type Store, Unavailable } from "../../store/port.ts";
import { bindingsOf, findExchange } from "./stored.ts";

/** How often the bindings are read because they changed meanwhile. */
const ROUNDS = 20;

interface Known {
  readonly exchange: Exchange;
  readonly route: Route;
}

export class Router {
  readonly #known = new Map<string, Known>();

  /**
   * The queues of each message, in the order given: by this exchange or, where it has none, by its alternates. Undefined
   * when the exchange does not exist.
   */
  async route(
    store: Store,
    name: string,
    routingKey: string,
    messages: readonly Message[],
  ): Promise<readonly ReadonlyMap<string, QueueRef>[] | undefined> {
    const known = await this.#find(store, name);
    if (known === undefined) return undefined;
    const routes = messages.map(({ properties }) => known.route({ routingKey, headers: properties.headers ?? {} }));
    const lost = messages.filter((_, i) => routes[i]?.size === 0);
    const { alternateExchange } = known.exchange;
    if (alternateExchange === null || lost.length === 0) return routes;
    const others = (await this.route(store, alternateExchange, routingKey, lost)) ?? [];
    const found = new Map(lost.map((message, i) => [message, others[i]]));
    return messages.map((message, i) => found.get(message) ?? routes[i] ?? new Map());
  }

  /** The exchange and its alternates, the alternate's alternate and so on, in order; itself alone where there is none. */
  async chainOf(store: Store, name: string): Promise<readonly string[]> {
    const alternate = (await findExchange(store, name))?.alternateExchange ?? null;
    return alternate === null ? [name] : [name, ...(await this.chainOf(store, alternate))];
  }

  async #find(store: Store, name: string): Promise<Known | undefined> {
    for (let round = 0; round < ROUNDS; round++) {
      const exchange = await findExchange(store, name);
      const known = this.#known.get(name);
      if (exchange === undefined) {
        this.#known.delete(name);
        return undefined;
      }
      if (known !== undefined && isSame(known.exchange, exchange)) return known;
      const bindings: StoredBinding[] = [];
      for await (const binding of bindingsOf(store, name)) {
        if (binding.generation === exchange.generation) bindings.push(binding);
      }
      // Read again: only if they did not change meanwhile, these are the bindings of one moment.
      this.#known.set(name, { exchange, route: routeOf(exchange.type, bindings) });
    }
    throw new Unavailable(`the bindings of exchange ${name} change all the time`);
  }
}

const isSame = (a: Exchange, b: Exchange): boolean =>
  a.generation === b.generation && a.bindingsVersion === b.bindingsVersion;
