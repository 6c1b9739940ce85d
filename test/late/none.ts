/** Routes that carry none of a kind, each with the reason. */
import type { Kind } from "./late.ts";

const looks = [
  "GET /health",
  "GET /queues",
  "GET /queues/{queue}",
  "GET /queues/{queue}/messages",
  "GET /sessions/{session}",
  "GET /sessions/{session}/completions",
  "GET /dtx",
  "GET /dtx/{xid}",
  "GET /dtx/{xid}/timeout",
  "GET /exchanges/{exchange}",
  "GET /exchanges/{exchange}/bindings",
  "GET /store/status",
];

const exchanges = [
  "PUT /exchanges/{exchange}",
  "DELETE /exchanges/{exchange}",
  "PUT /exchanges/{exchange}/bindings",
  "DELETE /exchanges/{exchange}/bindings",
];

const sessions = ["PUT /sessions/{session}", "DELETE /sessions/{session}", "POST /sessions/{session}/sync"];

const verbs = [
  "POST /dtx/{xid}/start",
  "POST /dtx/{xid}/end",
  "POST /dtx/{xid}/prepare",
  "POST /dtx/{xid}/commit",
  "POST /dtx/{xid}/rollback",
  "POST /dtx/{xid}/forget",
  "POST /dtx/{xid}/heuristic",
  "PUT /dtx/{xid}/timeout",
];

const looking = "it tells what is there, for whoever asks";

export const none: Readonly<Record<Kind, Readonly<Record<string, readonly string[]>>>> = {
  epoch: {
    [looking]: looks,
    "it is done in no session": ["POST /queues/{queue}/purge", "POST /queues/{queue}/redrive", "POST /recovery"],
  },
  lease: {
    [looking]: looks,
    "it names no delivery": [
      "PUT /queues/{queue}",
      "DELETE /queues/{queue}",
      "POST /queues/{queue}/purge",
      "POST /queues/{queue}/redrive",
      "POST /queues/{queue}/messages",
      "POST /exchanges/{exchange}/messages",
      "POST /queues/{queue}/deliveries",
      ...exchanges,
      ...sessions,
      ...verbs,
      "POST /recovery",
    ],
  },
  incarnation: {
    [looking]: looks,
    "it names no branch": ["PUT /queues/{queue}", ...exchanges, ...sessions, "POST /recovery"],
    "in a branch it leases what is no part of the branch; its right to ask is the association's, which an epoch tells":
      ["POST /queues/{queue}/deliveries"],
    "in a branch it is refused": ["POST /deliveries/release", "POST /deliveries/reject", "POST /deliveries/extend"],
  },
  attempt: {
    [looking]: looks,
    "each one is meant: without an epoch it takes the session over, with one it renews the expiry from when it comes": [
      "PUT /sessions/{session}",
    ],
    "it waits, and changes nothing": ["POST /sessions/{session}/sync"],
    "each one is meant: it counts from when it comes": ["POST /deliveries/extend", "PUT /dtx/{xid}/timeout"],
  },
};
