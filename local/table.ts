import {
  CreateTableCommand,
  DescribeTableCommand,
  DescribeTimeToLiveCommand,
  DynamoDBClient,
  ResourceInUseException,
  ResourceNotFoundException,
  UpdateTableCommand,
  UpdateTimeToLiveCommand,
  waitUntilTableExists,
} from "@aws-sdk/client-dynamodb";
import { table } from "../cdk/table.ts";
import { oneLine, StartFailure } from "./start-failure.ts";

export interface TableWanted {
  /** It has a stream of the new and the old images, from which replicas are fed. */
  readonly stream?: boolean;
}

/** As the stack declares it. */
const stream = { StreamEnabled: true, StreamViewType: "NEW_AND_OLD_IMAGES" } as const;

/**
 * Creates the table where it is missing and turns its time to live on, and its stream if one is wanted; resolves when it
 * can be used. Two services may do so at once. Throws `StartFailure` when the endpoint cannot be reached or refuses.
 */
export async function ensureTable(endpoint: string, name: string, wanted: TableWanted = {}): Promise<void> {
  const client = new DynamoDBClient({ endpoint, maxAttempts: 3 });
  try {
    if (!(await isActive(client, name))) {
      await create(client, name, wanted);
      await untilActive(client, name);
    }
    if (wanted.stream === true) await enableStream(client, name);
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

async function untilActive(client: DynamoDBClient, name: string): Promise<void> {
  await waitUntilTableExists({ client, minDelay: 1, maxDelay: 2, maxWaitTime: 120 }, { TableName: name });
}

async function create(client: DynamoDBClient, name: string, wanted: TableWanted): Promise<void> {
  try {
    await client.send(
      new CreateTableCommand({
        TableName: name,
        BillingMode: "PAY_PER_REQUEST",
        ...(wanted.stream === true && { StreamSpecification: stream }),
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

/** One that is on stays as it is: turned on again it would be another stream, and feeds would begin anew. */
async function enableStream(client: DynamoDBClient, name: string): Promise<void> {
  if (await streamIsOn(client, name)) return;
  try {
    await client.send(new UpdateTableCommand({ TableName: name, StreamSpecification: stream }));
  } catch (error) {
    // Someone who started at the same time may have been first.
    if (!(await streamIsOn(client, name))) throw error;
  }
  await untilActive(client, name);
}

/** Throws when it is one of another kind, which nobody here may take away. */
async function streamIsOn(client: DynamoDBClient, name: string): Promise<boolean> {
  const { Table } = await client.send(new DescribeTableCommand({ TableName: name }));
  const { StreamEnabled = false, StreamViewType } = Table?.StreamSpecification ?? {};
  if (StreamEnabled && StreamViewType !== stream.StreamViewType) {
    throw new Error(`its stream has ${StreamViewType}, not ${stream.StreamViewType}`);
  }
  return StreamEnabled;
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
