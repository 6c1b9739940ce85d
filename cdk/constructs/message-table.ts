import { RemovalPolicy } from "aws-cdk-lib";
import { AttributeType, Billing, StreamViewType, TableEncryptionV2, TableV2 } from "aws-cdk-lib/aws-dynamodb";
import type { Construct } from "constructs";
import { table } from "../table.ts";

export interface MessageTableProps {
  /** Made up if it is left out. */
  readonly tableName?: string;
  /** Replicas are fed from its stream. */
  readonly isReplicated?: boolean;
}

/**
 * The one table. It outlives the stack, refuses deletion and can be restored to any second of the last 35 days,
 * because prepared branches in it belong to transactions that only their manager may decide.
 */
export class MessageTable extends TableV2 {
  constructor(scope: Construct, id: string, { tableName, isReplicated = false }: MessageTableProps = {}) {
    super(scope, id, {
      ...(tableName !== undefined && { tableName }),
      ...(isReplicated && { dynamoStream: StreamViewType.NEW_AND_OLD_IMAGES }),
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
