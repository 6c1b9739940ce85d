import { fileURLToPath } from "node:url";
import { Duration, RemovalPolicy, Stack, Validations } from "aws-cdk-lib";
import type { TableV2 } from "aws-cdk-lib/aws-dynamodb";
import { Grant, type IGrantable, Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { Architecture, LoggingFormat, Runtime, Tracing } from "aws-cdk-lib/aws-lambda";
import { LogLevel, NodejsFunction, OutputFormat } from "aws-cdk-lib/aws-lambda-nodejs";
import { LogGroup, RetentionDays } from "aws-cdk-lib/aws-logs";
import type { IQueue } from "aws-cdk-lib/aws-sqs";
import { Construct } from "constructs";
import type { Replica } from "../replicas.ts";
import type { TableAccess } from "../routes.ts";

export interface HandlerFunctionProps {
  /** The handler's file below `lambdas/`, without its ending. */
  readonly lambda: string;
  readonly description: string;
  readonly table: TableV2;
  readonly tableAccess: TableAccess;
  /** The queue it may send to, if it may. */
  readonly commandQueue?: IQueue | undefined;
  /** Whoever may read or write the table waits for these, and tells them of changes of the cluster. */
  readonly replicas?: readonly Replica[];
  /** Of a function behind no route. */
  readonly timeout?: Duration;
  /** More of it. */
  readonly environment?: Readonly<Record<string, string>>;
}

const projectRoot = fileURLToPath(new URL("../../", import.meta.url));

/** HTTP APIs cut a call off after 30 s, so nothing behind a route may run longer. */
const timeout = Duration.seconds(30);

/** Lambda gives CPU in proportion to memory, and CPU is what a call waits for: the SDK's, not the table's. */
const memoryMegabytes = 1024;

/** Every call that the store makes, by what it needs; a transaction needs the actions of its writes. */
export const readActions: readonly string[] = ["dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:Query"];
export const writeActions: readonly string[] = [
  "dynamodb:PutItem",
  "dynamodb:UpdateItem",
  "dynamodb:DeleteItem",
  "dynamodb:ConditionCheckItem",
];

/** The same, and the table as a whole. */
export const wholeActions: readonly string[] = [...readActions, ...writeActions, "dynamodb:Scan"];

/** What it takes to tell a replica of a change of the cluster. */
const tellingActions: readonly string[] = ["dynamodb:PutItem", "dynamodb:UpdateItem"];

/** Of the account's own table in another region. */
export function grantOnReplica(
  scope: Construct,
  grantee: IGrantable,
  { region, tableName }: Replica,
  actions: readonly string[],
): void {
  const name = { service: "dynamodb", region, resource: "table", resourceName: tableName };
  Grant.addToPrincipal({ grantee, actions: [...actions], resourceArns: [Stack.of(scope).formatArn(name)] });
}

/** One function with a role and a log group of its own, bundled from one file of `lambdas/`. */
export class HandlerFunction extends Construct {
  readonly function: NodejsFunction;

  constructor(scope: Construct, id: string, props: HandlerFunctionProps) {
    super(scope, id);

    const logGroup = new LogGroup(this, "Logs", {
      retention: RetentionDays.ONE_MONTH,
      removalPolicy: RemovalPolicy.DESTROY,
    });
    // A role without the managed basic-execution policy, which would let every function write to every log group.
    const role = new Role(this, "Role", { assumedBy: new ServicePrincipal("lambda.amazonaws.com") });
    logGroup.grantWrite(role);
    const { replicas = [], tableAccess } = props;
    // Whoever waits for a replica may have to note that it is given up.
    const actions = tableActions(tableAccess === "read" && replicas.length > 0 ? "write" : tableAccess);
    if (actions.length > 0) props.table.grant(role, ...actions);
    props.commandQueue?.grant(role, "sqs:SendMessage");
    if (tableAccess !== "none") {
      const there = tableAccess === "whole" ? actions : [...readActions, ...tellingActions];
      for (const replica of replicas) grantOnReplica(this, role, replica, there);
    }

    this.function = new NodejsFunction(this, "Function", {
      entry: `${projectRoot}lambdas/${props.lambda}.ts`,
      description: props.description,
      projectRoot,
      depsLockFilePath: `${projectRoot}package-lock.json`,
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      memorySize: memoryMegabytes,
      timeout: props.timeout ?? timeout,
      role,
      logGroup,
      loggingFormat: LoggingFormat.JSON,
      tracing: Tracing.ACTIVE,
      environment: {
        CAIRN_TABLE: props.table.tableName,
        ...(props.commandQueue !== undefined && { CAIRN_COMMAND_QUEUE_URL: props.commandQueue.queueUrl }),
        ...(replicas.length > 0 && { CAIRN_REPLICATED: "1" }),
        ...props.environment,
      },
      awsSdkConnectionReuse: false,
      bundling: {
        format: OutputFormat.ESM,
        minify: true,
        logLevel: LogLevel.WARNING,
        // The ESM builds of the SDK shrink to 325 KB; its CommonJS builds, which are the default, to 516 KB.
        mainFields: ["module", "main"],
        // The runtime's own SDK is of another version and slower to load than the parts that we use.
        bundleAwsSDK: true,
      },
    });
    Validations.of(this).acknowledge({
      id: "AwsSolutions-IAM5[Resource::*]",
      reason:
        "X-Ray's PutTraceSegments and PutTelemetryRecords have no resource to name; nothing else is granted on *.",
    });
  }
}

function tableActions(access: TableAccess): readonly string[] {
  switch (access) {
    case "none":
      return [];
    case "read":
      return readActions;
    case "write":
      return [...readActions, ...writeActions];
    case "whole":
      return wholeActions;
  }
}
