import { CfnOutput, Stack } from "aws-cdk-lib";
import type { Construct } from "constructs";
import { MessageTable } from "./constructs/message-table.ts";
import type { Replica } from "./replicas.ts";

/** One replica: its table alone, in its own region. What feeds it stands where the changes are. */
export class ReplicaStack extends Stack {
  constructor(scope: Construct, id: string, { region, tableName }: Replica) {
    super(scope, id, { description: "Cairn: a replica of the table of another region", env: { region } });
    const table = new MessageTable(this, "Table", { tableName });
    new CfnOutput(this, "TableName", { value: table.tableName, description: "The replica of the one table" });
  }
}
