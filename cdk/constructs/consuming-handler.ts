import type { TableV2 } from "aws-cdk-lib/aws-dynamodb";
import { SqsEventSource } from "aws-cdk-lib/aws-lambda-event-sources";
import { Construct } from "constructs";
import type { Replica } from "../replicas.ts";
import type { QueueConsumer } from "../routes.ts";
import type { CommandQueue } from "./command-queue.ts";
import { HandlerFunction } from "./handler-function.ts";

export interface ConsumingHandlerProps {
  readonly consumer: QueueConsumer;
  readonly table: TableV2;
  readonly commandQueue: CommandQueue;
  readonly replicas: readonly Replica[];
}

/** A function that gets what a queue holds, a batch a call; of a batch only what it reports as failed is delivered again. */
export class ConsumingHandler extends Construct {
  constructor(scope: Construct, id: string, { consumer, table, commandQueue, replicas }: ConsumingHandlerProps) {
    super(scope, id);
    const handler = new HandlerFunction(this, "Handler", {
      lambda: consumer.lambda,
      description: `Consumes ${consumer.source}`,
      table,
      tableAccess: "write",
      commandQueue: commandQueue.commands,
      replicas,
    });
    handler.function.addEventSource(
      new SqsEventSource(commandQueue.byName[consumer.source], {
        batchSize: consumer.batchSize,
        reportBatchItemFailures: true,
      }),
    );
  }
}
