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
}

const iam = (method: Route["method"], path: string, lambda: string): Route => ({
  method,
  path,
  lambda,
  authorization: "iam",
});

export const routes: readonly Route[] = [
  { method: "GET", path: "/health", lambda: "health", authorization: "none" },

  iam("GET", "/queues", "queues/list"),
  iam("PUT", "/queues/{queue}", "queues/declare"),
  iam("GET", "/queues/{queue}", "queues/get"),
  iam("DELETE", "/queues/{queue}", "queues/delete"),
  iam("POST", "/queues/{queue}/purge", "queues/purge"),
  iam("GET", "/queues/{queue}/messages", "queues/browse"),
  iam("POST", "/queues/{queue}/messages", "queues/enqueue"),
  iam("POST", "/queues/{queue}/deliveries", "queues/acquire"),

  iam("POST", "/deliveries/accept", "deliveries/accept"),
  iam("POST", "/deliveries/release", "deliveries/release"),
  iam("POST", "/deliveries/reject", "deliveries/reject"),
  iam("POST", "/deliveries/extend", "deliveries/extend"),

  iam("PUT", "/sessions/{session}", "sessions/attach"),
  iam("GET", "/sessions/{session}", "sessions/get"),
  iam("DELETE", "/sessions/{session}", "sessions/detach"),

  iam("GET", "/dtx", "dtx/recover"),
  iam("GET", "/dtx/{xid}", "dtx/get"),
  iam("POST", "/dtx/{xid}/start", "dtx/start"),
  iam("POST", "/dtx/{xid}/end", "dtx/end"),
  iam("POST", "/dtx/{xid}/prepare", "dtx/prepare"),
  iam("POST", "/dtx/{xid}/commit", "dtx/commit"),
  iam("POST", "/dtx/{xid}/rollback", "dtx/rollback"),
  iam("POST", "/dtx/{xid}/forget", "dtx/forget"),
  iam("POST", "/dtx/{xid}/heuristic", "dtx/heuristic"),
  iam("GET", "/dtx/{xid}/timeout", "dtx/get-timeout"),
  iam("PUT", "/dtx/{xid}/timeout", "dtx/set-timeout"),

  iam("POST", "/recovery", "recovery"),
];

/** Functions that no route calls: the schedule does, every `rateMinutes`. */
export interface ScheduledFunction {
  readonly lambda: string;
  readonly rateMinutes: number;
}

export const schedules: readonly ScheduledFunction[] = [{ lambda: "schedule/recovery", rateMinutes: 1 }];
