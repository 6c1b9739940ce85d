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

/**
 * Keeps connections open between calls; an answer later than 5 s counts as lost and is asked for again. What is left out is
 * as the AWS settings say.
 */
export const tableClient = (endpoint: string | undefined, region?: string): DynamoDBClient => {
  const client = new DynamoDBClient({
    maxAttempts: ATTEMPTS,
    // Without the third the SDK only warns of an answer that is late, and waits for it without end.
    requestHandler: { connectionTimeout: 3_000, requestTimeout: 5_000, throwOnRequestTimeout: true },
    ...(endpoint !== undefined && { endpoint }),
    ...(region !== undefined && { region }),
  });
  client.middlewareStack.add(
    (next) => {
      let firstAtMs: number | undefined;
      let isInDoubt = false;
      return async (args) => {
        const nowMs = Date.now();
        firstAtMs ??= nowMs;
        if (nowMs - firstAtMs > ATTEMPTS_MS) throw new Unavailable("the call was frozen for too long to go on");
        try {
          return await next(args);
        } catch (error) {
          if (isInDoubt) inDoubt.add(error as object);
          isInDoubt ||= !isRefused(error);
          throw error;
        }
      };
    },
    // Inside the SDK's own repeating.
    { step: "finalizeRequest", priority: "low", name: "attempts" },
  );
  return client;
};

/** Errors of calls of which an earlier attempt had no answer. */
const inDoubt = new WeakSet<object>();

/**
 * Whether an earlier attempt of the call that ended so may have landed. The SDK's count of attempts does not tell: it
 * repeats what the table has refused as well, being throttled or because a clock is wrong.
 */
export const mayHaveLanded = (error: unknown): boolean =>
  typeof error === "object" && error !== null && inDoubt.has(error);

/** The table said no: nothing was written. */
const isRefused = (error: unknown): boolean => {
  const status = (error as { $metadata?: { httpStatusCode?: number } }).$metadata?.httpStatusCode ?? 0;
  return status >= 400 && status < 500;
};
