import { CfnOutput, Stack, type StackProps } from "aws-cdk-lib";
import type { Construct } from "constructs";
import { CommandQueue } from "./constructs/command-queue.ts";
import { ConsumingHandler } from "./constructs/consuming-handler.ts";
import { HandlerFunction } from "./constructs/handler-function.ts";
import { RestrictedHttpApi } from "./constructs/http-api.ts";
import { MessageTable } from "./constructs/message-table.ts";
import { ScheduledHandler } from "./constructs/scheduled-handler.ts";
import { consumers, routes, schedules } from "./routes.ts";

/** The whole service: one table, one ordered queue, a function for each route, schedule and consumer, one HTTP API in front. */
export class CairnStack extends Stack {
  constructor(scope: Construct, id: string, props: StackProps = {}) {
    super(scope, id, { description: "Cairn: a message service with distributed transactions", ...props });

    const table = new MessageTable(this, "Table");
    const commandQueue = new CommandQueue(this, "CommandQueue");
    const api = new RestrictedHttpApi(this, "Api");

    for (const route of routes) {
      const handler = new HandlerFunction(this, constructId(route.lambda), {
        lambda: route.lambda,
        description: `${route.method} ${route.path}`,
        table,
        tableAccess: route.tableAccess,
        ...(route.sends && { commandQueue: commandQueue.commands }),
      });
      api.serve(route, handler.function);
    }
    for (const schedule of schedules) {
      new ScheduledHandler(this, constructId(schedule.lambda), {
        schedule,
        table,
        commandQueue: commandQueue.commands,
      });
    }
    for (const consumer of consumers) {
      new ConsumingHandler(this, constructId(consumer.lambda), { consumer, table, commandQueue });
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
