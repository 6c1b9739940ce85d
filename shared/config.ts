/** The environment, read once a process, and the context that each call gets from it. */

import type { Context } from "./commands/context.ts";
import { Router } from "./commands/exchanges/router.ts";
import { SettingsCache } from "./commands/settings-cache.ts";
import { LONG_CALL_MS } from "./domain/limits.ts";
import { tableClient } from "./store/client.ts";
import { DynamoStore } from "./store/dynamodb.ts";
import type { Receipt } from "./store/receipt.ts";

const tableName = process.env.CAIRN_TABLE ?? "cairn";

/** The process's connection: tests put their faults into its middleware stack. */
export const client = tableClient(process.env.DYNAMODB_ENDPOINT);

const settings = new SettingsCache();
const router = new Router();

/** Kept back of a function's time, for the answer. */
const ANSWER_MS = 3_000;

export interface CallScope extends Context {
  readonly receipt: Receipt;
  settled(): Promise<void>;
}

/** `remainingMs`: what is left of the function's time. */
export const openCall = (remainingMs: number): CallScope => {
  const store = new DynamoStore(client, tableName);
  return {
    store,
    settings,
    router,
    now: Date.now,
    stopAtMs: Date.now() + Math.min(LONG_CALL_MS, remainingMs - ANSWER_MS),
    receipt: store.receipt,
    settled: () => store.settled(),
  };
};
