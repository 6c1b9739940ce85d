/** The process's one connection to the command queue. */
import { SQSClient } from "@aws-sdk/client-sqs";

/** Attempts of one call by the SDK, the first included. */
const ATTEMPTS = 4;

/** Keeps connections open between calls; an answer later than 5 s counts as lost and is asked for again. */
export const commandQueueClient = (endpoint: string | undefined): SQSClient =>
  new SQSClient({
    maxAttempts: ATTEMPTS,
    // Without the third the SDK only warns of an answer that is late, and waits for it without end.
    requestHandler: { connectionTimeout: 3_000, requestTimeout: 5_000, throwOnRequestTimeout: true },
    ...(endpoint !== undefined && { endpoint }),
  });
