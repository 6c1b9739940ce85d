import { type Exchange, standardExchange } from "../../domain/exchange.ts";
import { createExchange } from "../../records/exchange.ts";
import type { Context } from "../context.ts";

/** Gives a standard exchange its record, to note on. */
export const ensureRecord = async (context: Context, exchange: Exchange): Promise<void> => {
  const standard = standardExchange(exchange.name);
  // A failure means that it has one.
  if (standard !== undefined) await context.store.commit(createExchange(standard, undefined, context.now()));
};
