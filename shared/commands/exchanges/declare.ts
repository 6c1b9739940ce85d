import { randomBytes } from "node:crypto";
import { type Exchange, type ExchangeSettings, standardExchanges } from "../../domain/exchange.ts";
import { isReserved } from "../../domain/name.ts";
import { isRefusal, type Refusal, refuse, refuseFields } from "../../domain/refusal.ts";
import { createExchange } from "../../records/exchange.ts";
import { besideOf } from "../beside.ts";
import type { Context } from "../context.ts";
import { findExchange } from "./stored.ts";

export interface DeclaredExchange {
  readonly exchange: Exchange;
  readonly isNew: boolean;
}

/** Makes the exchange, or finds it as it is asked for. Its alternate must exist, so that alternates never form a ring. */
export const declareExchange = async (
  context: Context,
  name: string,
  settings: ExchangeSettings,
): Promise<DeclaredExchange | Refusal> => {
  if (isReserved(name) && !standardExchanges.has(name)) {
    return refuse("not-allowed", "names beginning with amq. are reserved");
  }
  if (settings.alternateExchange === name) {
    return refuseFields({ path: "alternateExchange", message: "must be another exchange than this one" });
  }
  const found = await findExchange(context.store, name);
  if (found !== undefined) return redeclared(found, settings);
  const alternate = await findAlternate(context, settings);
  if (isRefusal(alternate)) return alternate;
  const exchange = { name, generation: randomBytes(6).toString("base64url"), ...settings, bindingsVersion: 0 };
  const commit = await context.store.commit([
    ...createExchange(exchange, alternate, context.now()),
    ...besideOf(context, { kind: "exchange-declared", exchange: name, ...settings, isNew: true }),
  ]);
  return commit.done ? { exchange, isNew: true } : declareExchange(context, name, settings);
};

const redeclared = (exchange: Exchange, settings: ExchangeSettings): DeclaredExchange | Refusal => {
  if (exchange.type !== settings.type) {
    return refuse("not-allowed", `exchange ${exchange.name} exists with another type: ${exchange.type}`);
  }
  return exchange.alternateExchange === settings.alternateExchange
    ? { exchange, isNew: false }
    : refuse("precondition-failed", `exchange ${exchange.name} exists with another alternateExchange`);
};

const findAlternate = async (
  context: Context,
  { alternateExchange: name }: ExchangeSettings,
): Promise<Exchange | undefined | Refusal> => {
  if (name === null) return undefined;
  return (await findExchange(context.store, name)) ?? refuse("not-found", `exchange ${name} does not exist`);
};
