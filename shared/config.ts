/** The environment, read once a process, and the context that each call gets from it. */

import type { Context } from "./commands/context.ts";
import { Router } from "./commands/exchanges/router.ts";
import { SettingsCache } from "./commands/settings-cache.ts";
import { LONG_CALL_MS } from "./domain/limits.ts";
import { tableClient } from "./store/client.ts";
import { DynamoStore } from "./store/dynamodb.ts";
import type { Receipt } from "./store/receipt.ts";
import { commandQueueClient } from "./transport/client.ts";
import { SqsCommandQueue } from "./transport/sqs.ts";

const tableName = process.env.CAIRN_TABLE ?? "cairn";
/** Only functions that may send are told where. */
const commandQueueUrl = process.env.CAIRN_COMMAND_QUEUE_URL ?? "";

/** The process's connections: tests put their faults into their middleware stacks. */
export const client = tableClient(process.env.DYNAMODB_ENDPOINT);
export const queueClient = commandQueueClient(process.env.SQS_ENDPOINT);

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
  const commandQueue = new SqsCommandQueue(queueClient, commandQueueUrl);
  return {
    store,
    commandQueue,
    settings,
    router,
    now: Date.now,
    stopAtMs: Date.now() + Math.min(LONG_CALL_MS, remainingMs - ANSWER_MS),
    receipt: store.receipt,
    settled: async () => {
      await commandQueue.settled();
      await store.settled();
    },
  };
};
