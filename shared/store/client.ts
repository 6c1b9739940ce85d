/** The process's one connection to the table. */
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";

/** Attempts of one call by the SDK, the first included. */
const ATTEMPTS = 4;

/** Keeps connections open between calls; an answer later than 5 s counts as lost and is asked for again. */
export const tableClient = (endpoint: string | undefined): DynamoDBClient =>
  new DynamoDBClient({
    maxAttempts: ATTEMPTS,
    requestHandler: { connectionTimeout: 3_000, requestTimeout: 5_000 },
    ...(endpoint !== undefined && { endpoint }),
  });
