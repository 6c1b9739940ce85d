import { DynamoDBClient, GetItemCommand } from "@aws-sdk/client-dynamodb";
import { table } from "../cdk/table.ts";
import { StartFailure } from "./start-failure.ts";

/** Throws `StartFailure` for the table of a replica: what it took by itself would be lost, or part it from its cluster. */
export async function mustBePrimary(endpoint: string, tableName: string): Promise<void> {
  const client = new DynamoDBClient({ endpoint, maxAttempts: 3 });
  try {
    const Key = { [table.partitionKey]: { S: "STORE" }, [table.sortKey]: { S: "STATUS" } };
    const { Item } = await client.send(new GetItemCommand({ TableName: tableName, Key, ConsistentRead: true }));
    if (Item?.role?.S !== "replica") return;
  } finally {
    client.destroy();
  }
  throw new StartFailure(
    `the table "${tableName}" is a replica; \`npm run -s cairn -- store promote --table ${tableName}\` makes it the primary`,
  );
}
