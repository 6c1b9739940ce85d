/** The environment, read once a process, and the context that each call gets from it. */

import type { Context } from "./commands/context.ts";
import { Router } from "./commands/exchanges/router.ts";
import { MetBranches } from "./commands/met-branches.ts";
import { KnownCluster } from "./commands/replica/known-cluster.ts";
import type { OpenStore } from "./commands/replica/members.ts";
import { SettingsCache } from "./commands/settings-cache.ts";
import { LONG_CALL_MS } from "./domain/limits.ts";
import { tableClient } from "./store/client.ts";
import { DynamoStore } from "./store/dynamodb.ts";
import type { Receipt } from "./store/receipt.ts";
import { ReplicatedStore } from "./store/replication/replicated-store.ts";
import { commandQueueClient } from "./transport/client.ts";
import { SqsCommandQueue } from "./transport/sqs.ts";

const tableName = process.env.CAIRN_TABLE ?? "cairn";
/** Only functions that may send are told where. */
const commandQueueUrl = process.env.CAIRN_COMMAND_QUEUE_URL ?? "";

/** The store feeds replicas, and commands wait for them. */
const isReplicated = process.env.CAIRN_REPLICATED === "1";

/** The process's connections: tests put their faults into their middleware stacks. */
export const client = tableClient(process.env.DYNAMODB_ENDPOINT);
export const queueClient = commandQueueClient(process.env.SQS_ENDPOINT);

/** Connections to the tables of replicas, one for each place. */
const connections = new Map<string, ReturnType<typeof tableClient>>();

const openMember: OpenStore = ({ table, endpoint = process.env.DYNAMODB_ENDPOINT, region }) => {
  const name = `${endpoint} ${region}`;
  const connection = connections.get(name) ?? tableClient(endpoint, region);
  connections.set(name, connection);
  return new DynamoStore(connection, table);
};

/** What keeps the cluster together, for whoever changes it: the store as it lies in its table. */
export const openCluster = () => ({
  context: { store: new DynamoStore(client, tableName), now: Date.now },
  open: openMember,
});

const cluster = new KnownCluster(openMember);

const settings = new SettingsCache();
const router = new Router();
const met = new MetBranches();

/** Kept back of a function's time, for the answer. */
const ANSWER_MS = 3_000;

export interface CallScope extends Context {
  readonly receipt: Receipt;
  settled(): Promise<void>;
  replicated(): Promise<void>;
}

/** `remainingMs`: what is left of the function's time. */
export const openCall = (remainingMs: number): CallScope => {
  const table = new DynamoStore(client, tableName);
  const commandQueue = new SqsCommandQueue(queueClient, commandQueueUrl);
  const stopAtMs = Date.now() + Math.min(LONG_CALL_MS, remainingMs - ANSWER_MS);
  // What is replicated waits as long as there is time: a call that stopped early has something to wait for, too.
  const replicated = isReplicated
    ? new ReplicatedStore(table, cluster, Date.now() + remainingMs - ANSWER_MS)
    : undefined;
  return {
    store: replicated ?? table,
    commandQueue,
    settings,
    router,
    met,
    now: Date.now,
    stopAtMs,
    receipt: table.receipt,
    settled: async () => {
      await commandQueue.settled();
      await table.settled();
    },
    isReplicated,
    replicated: async () => replicated?.replicated(),
  };
};
