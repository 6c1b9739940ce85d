/** The process's one connection to the table. */
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { Unavailable } from "./port.ts";

/** Attempts of one call by the SDK, the first included. */
const ATTEMPTS = 4;
/**
 * A call makes no attempt later than this after its first, however long the process was frozen in between: a token is
 * forgotten after 10 minutes, and what it protected would be done a second time. All rounds of a commit stay below 5.
 */
const ATTEMPTS_MS = 2 * 60_000;

/** Keeps connections open between calls; an answer later than 5 s counts as lost and is asked for again. */
export const tableClient = (endpoint: string | undefined): DynamoDBClient => {
  const client = new DynamoDBClient({
    maxAttempts: ATTEMPTS,
    // Without the third the SDK only warns of an answer that is late, and waits for it without end.
    requestHandler: { connectionTimeout: 3_000, requestTimeout: 5_000, throwOnRequestTimeout: true },
    ...(endpoint !== undefined && { endpoint }),
  });
  client.middlewareStack.add(
    (next) => {
      let firstAtMs: number | undefined;
      return async (args) => {
        const nowMs = Date.now();
        firstAtMs ??= nowMs;
        if (nowMs - firstAtMs > ATTEMPTS_MS) throw new Unavailable("the call was frozen for too long to go on");
        return next(args);
      };
    },
    // Inside the SDK's own repeating.
    { step: "finalizeRequest", priority: "low", name: "noLateAttempts" },
  );
  return client;
};
