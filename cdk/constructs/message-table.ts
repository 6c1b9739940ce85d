import { RemovalPolicy } from "aws-cdk-lib";
import { AttributeType, Billing, TableEncryptionV2, TableV2 } from "aws-cdk-lib/aws-dynamodb";
import type { Construct } from "constructs";
import { table } from "../table.ts";

/**
 * The one table. It outlives the stack, refuses deletion and can be restored to any second of the last 35 days,
 * because prepared branches in it belong to transactions that only their manager may decide.
 */
export class MessageTable extends TableV2 {
  constructor(scope: Construct, id: string) {
    super(scope, id, {
      partitionKey: { name: table.partitionKey, type: AttributeType.STRING },
      sortKey: { name: table.sortKey, type: AttributeType.STRING },
      timeToLiveAttribute: table.timeToLiveAttribute,
      billing: Billing.onDemand(),
      encryption: TableEncryptionV2.awsManagedKey(),
      pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
      deletionProtection: true,
      removalPolicy: RemovalPolicy.RETAIN,
    });
  }
}
