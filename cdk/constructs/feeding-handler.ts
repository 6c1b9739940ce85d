import type { TableV2 } from "aws-cdk-lib/aws-dynamodb";
import { StartingPosition } from "aws-cdk-lib/aws-lambda";
import { Construct } from "constructs";
import type { Replica } from "../replicas.ts";
import { feed } from "../routes.ts";
import { grantOnReplica, HandlerFunction, readActions, writeActions } from "./handler-function.ts";

export interface FeedingHandlerProps {
  /** Its stream is read. */
  readonly table: TableV2;
  readonly replica: Replica;
}

/**
 * A function that gets all that is written in the table, in order, and feeds one replica with it. What fails comes again
 * for as long as the stream keeps it, whole, because nothing behind it may be applied before.
 */
export class FeedingHandler extends Construct {
  constructor(scope: Construct, id: string, { table, replica }: FeedingHandlerProps) {
    super(scope, id);
    const handler = new HandlerFunction(this, "Handler", {
      lambda: feed.lambda,
      description: `Feeds ${replica.tableName}`,
      table,
      tableAccess: "none",
      environment: { CAIRN_REPLICA_TABLE: replica.tableName, CAIRN_REPLICA_REGION: replica.region },
    });
    grantOnReplica(this, handler.function, replica, [...readActions, ...writeActions]);
    if (table.tableStreamArn === undefined) throw new Error("a table without a stream feeds nobody");
    table.grantStreamRead(handler.function);
    handler.function.addEventSourceMapping("Feed", {
      eventSourceArn: table.tableStreamArn,
      startingPosition: StartingPosition.TRIM_HORIZON,
      batchSize: feed.batchSize,
      bisectBatchOnError: false,
      // Without end.
      retryAttempts: -1,
    });
  }
}
