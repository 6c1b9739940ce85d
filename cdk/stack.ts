import { CfnOutput, Stack, type StackProps } from "aws-cdk-lib";
import type { Construct } from "constructs";
import { CommandQueue } from "./constructs/command-queue.ts";
import { ConsumingHandler } from "./constructs/consuming-handler.ts";
import { FeedingHandler } from "./constructs/feeding-handler.ts";
import { HandlerFunction } from "./constructs/handler-function.ts";
import { RestrictedHttpApi } from "./constructs/http-api.ts";
import { MessageTable } from "./constructs/message-table.ts";
import { ScheduledHandler } from "./constructs/scheduled-handler.ts";
import type { Replica } from "./replicas.ts";
import { consumers, rejoining, routes, schedules } from "./routes.ts";

export interface CairnStackProps extends StackProps {
  /** Tables that are fed with all that is written here; each is a stack of its own. */
  readonly replicas?: readonly Replica[];
}

/** The whole service: one table, one ordered queue, a function for each route, schedule and consumer, one HTTP API in front. */
export class CairnStack extends Stack {
  constructor(scope: Construct, id: string, { replicas = [], ...props }: CairnStackProps = {}) {
    super(scope, id, { description: "Cairn: a message service with distributed transactions", ...props });

    const table = new MessageTable(this, "Table", { isReplicated: replicas.length > 0 });
    const commandQueue = new CommandQueue(this, "CommandQueue");
    const api = new RestrictedHttpApi(this, "Api");

    for (const route of routes) {
      const handler = new HandlerFunction(this, constructId(route.lambda), {
        lambda: route.lambda,
        description: `${route.method} ${route.path}`,
        table,
        tableAccess: route.tableAccess,
        replicas,
        ...(route.sends && { commandQueue: commandQueue.commands }),
      });
      api.serve(route, handler.function);
    }
    for (const schedule of schedules) {
      new ScheduledHandler(this, constructId(schedule.lambda), {
        schedule,
        table,
        commandQueue: commandQueue.commands,
        replicas,
      });
    }
    if (replicas.length > 0) {
      new ScheduledHandler(this, constructId(rejoining.lambda), {
        schedule: rejoining,
        table,
        commandQueue: commandQueue.commands,
        replicas,
        isLong: true,
      });
    }
    for (const consumer of consumers) {
      new ConsumingHandler(this, constructId(consumer.lambda), { consumer, table, commandQueue, replicas });
    }
    for (const replica of replicas) {
      new FeedingHandler(this, constructId(`feed-${replica.region}`), { table, replica });
    }

    new CfnOutput(this, "ApiUrl", { value: api.url, description: "Base URL of the HTTP API" });
    new CfnOutput(this, "TableName", { value: table.tableName, description: "The one table that holds every record" });
  }
}

/** `dtx/get-timeout` becomes `DtxGetTimeout`. */
function constructId(lambda: string): string {
  return lambda
    .split(/[/-]/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join("");
}
