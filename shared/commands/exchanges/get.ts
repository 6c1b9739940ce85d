import { type Exchange, standardExchange } from "../../domain/exchange.ts";
import { type Refusal, refuse } from "../../domain/refusal.ts";
import { readExchange, unroutableOf } from "../../records/exchange.ts";
import { exchangeKey } from "../../records/keys.ts";
import type { Context } from "../context.ts";

export interface ExchangeAndStats {
  readonly exchange: Exchange;
  /** Messages that reached no queue and were dropped. */
  readonly unroutable: number;
}

export const getExchange = async (context: Context, name: string): Promise<ExchangeAndStats | Refusal> => {
  const item = await context.store.read(exchangeKey(name));
  if (item !== undefined) return { exchange: readExchange(name, item), unroutable: unroutableOf(item) };
  const exchange = standardExchange(name);
  return exchange === undefined ? missingExchange(name) : { exchange, unroutable: 0 };
};

export const missingExchange = (name: string): Refusal => refuse("not-found", `exchange ${name} does not exist`);
