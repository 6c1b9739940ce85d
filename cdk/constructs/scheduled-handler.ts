import { Duration } from "aws-cdk-lib";
import type { TableV2 } from "aws-cdk-lib/aws-dynamodb";
import { Rule, Schedule } from "aws-cdk-lib/aws-events";
import { LambdaFunction } from "aws-cdk-lib/aws-events-targets";
import type { IQueue } from "aws-cdk-lib/aws-sqs";
import { Construct } from "constructs";
import type { Replica } from "../replicas.ts";
import type { ScheduledFunction } from "../routes.ts";
import { HandlerFunction } from "./handler-function.ts";

export interface ScheduledHandlerProps {
  readonly schedule: ScheduledFunction;
  readonly table: TableV2;
  readonly commandQueue: IQueue;
  readonly replicas: readonly Replica[];
  /** It reads tables as wholes, and may take its whole period. */
  readonly isLong?: boolean;
}

/** A function that a clock calls. A lost or failed run is not repeated: the next one does the same work. */
export class ScheduledHandler extends Construct {
  constructor(scope: Construct, id: string, props: ScheduledHandlerProps) {
    super(scope, id);
    const { schedule, table, commandQueue, replicas, isLong = false } = props;
    const rate = Duration.minutes(schedule.rateMinutes);
    const handler = new HandlerFunction(this, "Handler", {
      lambda: schedule.lambda,
      description: `Every ${rate.toHumanString()}: ${schedule.lambda}`,
      table,
      tableAccess: isLong ? "whole" : "write",
      ...(isLong && { timeout: rate }),
      replicas,
      ...(schedule.sends && { commandQueue }),
    });
    handler.function.configureAsyncInvoke({ retryAttempts: 0, maxEventAge: rate });
    new Rule(this, "Rule", {
      schedule: Schedule.rate(rate),
      targets: [new LambdaFunction(handler.function, { retryAttempts: 0, maxEventAge: rate })],
    });
  }
}
