import type { QueueName } from "./queue.ts";

/** What a function may do with the table: nothing, read records, read and write them, or read it as a whole besides. */
export type TableAccess = "none" | "read" | "write" | "whole";

/**
 * The one list of routes: the stack, the local server and the route tests are made from it.
 * `lambda` names the handler's file below `lambdas/`, without its ending; the file exports `handler`.
 */
export interface Route {
  readonly method: "GET" | "PUT" | "POST" | "DELETE";
  /** An HTTP API route path; parameters stand in braces. */
  readonly path: string;
  readonly lambda: string;
  /** `iam`: the caller signs with SigV4. `none`: anyone may call. */
  readonly authorization: "iam" | "none";
  /** What the function's role is granted. */
  readonly tableAccess: TableAccess;
  /** It may send to the command queue. */
  readonly sends?: true;
}

const reads = (path: string, lambda: string): Route => ({
  method: "GET",
  path,
  lambda,
  authorization: "iam",
  tableAccess: "read",
});

/** GET may write too: whoever meets a branch whose time is over undoes its work, who asks for the store gives it its id. */
const writes = (method: Route["method"], path: string, lambda: string): Route => ({
  method,
  path,
  lambda,
  authorization: "iam",
  tableAccess: "write",
});

const sends = (route: Route): Route => ({ ...route, sends: true });

export const routes: readonly Route[] = [
  { method: "GET", path: "/health", lambda: "health", authorization: "none", tableAccess: "none" },

  reads("/queues", "queues/list"),
  sends(writes("PUT", "/queues/{queue}", "queues/declare")),
  writes("GET", "/queues/{queue}", "queues/get"),
  sends(writes("DELETE", "/queues/{queue}", "queues/delete")),
  writes("POST", "/queues/{queue}/purge", "queues/purge"),
  writes("POST", "/queues/{queue}/redrive", "queues/redrive"),
  writes("GET", "/queues/{queue}/messages", "queues/browse"),
  sends(writes("POST", "/queues/{queue}/messages", "queues/enqueue")),
  writes("POST", "/queues/{queue}/deliveries", "queues/acquire"),

  sends(writes("PUT", "/exchanges/{exchange}", "exchanges/declare")),
  reads("/exchanges/{exchange}", "exchanges/get"),
  sends(writes("DELETE", "/exchanges/{exchange}", "exchanges/delete")),
  sends(writes("PUT", "/exchanges/{exchange}/bindings", "exchanges/bind")),
  reads("/exchanges/{exchange}/bindings", "exchanges/list-bindings"),
  sends(writes("DELETE", "/exchanges/{exchange}/bindings", "exchanges/unbind")),
  sends(writes("POST", "/exchanges/{exchange}/messages", "exchanges/publish")),

  sends(writes("POST", "/deliveries/accept", "deliveries/accept")),
  sends(writes("POST", "/deliveries/release", "deliveries/release")),
  sends(writes("POST", "/deliveries/reject", "deliveries/reject")),
  writes("POST", "/deliveries/extend", "deliveries/extend"),

  sends(writes("PUT", "/sessions/{session}", "sessions/attach")),
  reads("/sessions/{session}", "sessions/get"),
  writes("DELETE", "/sessions/{session}", "sessions/detach"),
  reads("/sessions/{session}/completions", "sessions/completions"),
  sends({ ...reads("/sessions/{session}/sync", "sessions/sync"), method: "POST" }),

  reads("/dtx", "dtx/recover"),
  writes("GET", "/dtx/{xid}", "dtx/get"),
  writes("POST", "/dtx/{xid}/start", "dtx/start"),
  writes("POST", "/dtx/{xid}/end", "dtx/end"),
  writes("POST", "/dtx/{xid}/prepare", "dtx/prepare"),
  writes("POST", "/dtx/{xid}/commit", "dtx/commit"),
  writes("POST", "/dtx/{xid}/rollback", "dtx/rollback"),
  writes("POST", "/dtx/{xid}/forget", "dtx/forget"),
  writes("POST", "/dtx/{xid}/heuristic", "dtx/heuristic"),
  writes("GET", "/dtx/{xid}/timeout", "dtx/get-timeout"),
  writes("PUT", "/dtx/{xid}/timeout", "dtx/set-timeout"),

  writes("POST", "/recovery", "recovery"),

  writes("GET", "/store/status", "store/status"),
];

/** Functions that no route calls: the schedule does, every `rateMinutes`. They may read and write the table. */
export interface ScheduledFunction {
  readonly lambda: string;
  readonly rateMinutes: number;
  readonly sends?: true;
}

export const schedules: readonly ScheduledFunction[] = [
  { lambda: "schedule/recovery", rateMinutes: 1 },
  { lambda: "schedule/wake", rateMinutes: 1, sends: true },
];

/** Of a store with replicas alone: those that were given up join again. It reads the tables as wholes, and has its period for that. */
export const rejoining: ScheduledFunction = { lambda: "schedule/rejoin", rateMinutes: 5 };

/** Functions that get what a queue holds, up to `batchSize` messages a call. They may write the table, and send. */
export interface QueueConsumer {
  readonly lambda: string;
  readonly source: QueueName;
  readonly batchSize: number;
}

/** One message a call: a batch is given back when its slowest group is done, which would hold up the others in it. */
export const consumers: readonly QueueConsumer[] = [
  { lambda: "worker/commands", source: "commands", batchSize: 1 },
  { lambda: "worker/failed-commands", source: "failed-commands", batchSize: 1 },
];

/** The function that gets what is written in the table, in order, and feeds one replica with it. One for each replica. */
export interface ReplicaFeed {
  readonly lambda: string;
  /** Changes a call, at most. */
  readonly batchSize: number;
}

export const feed: ReplicaFeed = { lambda: "stream/replicate", batchSize: 100 };
