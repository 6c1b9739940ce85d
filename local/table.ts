import {
  CreateTableCommand,
  DescribeTableCommand,
  DescribeTimeToLiveCommand,
  DynamoDBClient,
  ResourceInUseException,
  ResourceNotFoundException,
  UpdateTimeToLiveCommand,
  waitUntilTableExists,
} from "@aws-sdk/client-dynamodb";
import { table } from "../cdk/table.ts";
import { oneLine, StartFailure } from "./start-failure.ts";

/**
 * Creates the table where it is missing and turns its time to live on; resolves when it can be used. Two services may
 * do so at once. Throws `StartFailure` when the endpoint cannot be reached or refuses.
 */
export async function ensureTable(endpoint: string, name: string): Promise<void> {
  const client = new DynamoDBClient({ endpoint, maxAttempts: 3 });
  try {
    if (!(await isActive(client, name))) {
      await create(client, name);
      await waitUntilTableExists({ client, minDelay: 1, maxDelay: 2, maxWaitTime: 120 }, { TableName: name });
    }
    await enableTimeToLive(client, name);
  } catch (error) {
    throw new StartFailure(`cannot use the table "${name}" at ${endpoint}: ${oneLine(error)}`);
  } finally {
    client.destroy();
  }
}

async function isActive(client: DynamoDBClient, name: string): Promise<boolean> {
  try {
    const answer = await client.send(new DescribeTableCommand({ TableName: name }));
    return answer.Table?.TableStatus === "ACTIVE";
  } catch (error) {
    if (error instanceof ResourceNotFoundException) return false;
    throw error;
  }
}

async function create(client: DynamoDBClient, name: string): Promise<void> {
  try {
    await client.send(
      new CreateTableCommand({
        TableName: name,
        BillingMode: "PAY_PER_REQUEST",
        AttributeDefinitions: [
          { AttributeName: table.partitionKey, AttributeType: "S" },
          { AttributeName: table.sortKey, AttributeType: "S" },
        ],
        KeySchema: [
          { AttributeName: table.partitionKey, KeyType: "HASH" },
          { AttributeName: table.sortKey, KeyType: "RANGE" },
        ],
      }),
    );
  } catch (error) {
    if (!(error instanceof ResourceInUseException)) throw error;
  }
}

async function enableTimeToLive(client: DynamoDBClient, name: string): Promise<void> {
  if (await timeToLiveIsOn(client, name)) return;
  try {
    await client.send(
      new UpdateTimeToLiveCommand({
        TableName: name,
        TimeToLiveSpecification: { AttributeName: table.timeToLiveAttribute, Enabled: true },
      }),
    );
  } catch (error) {
    // Someone who started at the same time may have been first.
    if (!(await timeToLiveIsOn(client, name))) throw error;
  }
}

async function timeToLiveIsOn(client: DynamoDBClient, name: string): Promise<boolean> {
  const answer = await client.send(new DescribeTimeToLiveCommand({ TableName: name }));
  return /^ENABL/.test(answer.TimeToLiveDescription?.TimeToLiveStatus ?? "");
}
