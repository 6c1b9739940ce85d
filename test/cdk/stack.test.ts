import { describe, expect, test } from "vitest";
import { readActions, wholeActions, writeActions } from "../../cdk/constructs/handler-function.ts";
import { queues } from "../../cdk/queue.ts";
import { consumers, type QueueConsumer, routes, type ScheduledFunction, schedules } from "../../cdk/routes.ts";
import { table } from "../../cdk/table.ts";
import { type Resource, referenced, resourcesOf, synthesized } from "./synthesized.ts";

const template = synthesized();
const functions = new Map(resourcesOf(template, "AWS::Lambda::Function"));
const [tableId, tableResource] = resourcesOf(template, "AWS::DynamoDB::GlobalTable")[0] ?? [];
const sqsQueues = resourcesOf(template, "AWS::SQS::Queue");
const [commandsId, commands] = sqsQueues.find(([, queue]) => "RedrivePolicy" in queue.Properties) ?? [];
const [failedId, failed] = sqsQueues.find(([id]) => id !== commandsId) ?? [];

const describeSchedule = ({ lambda, rateMinutes }: ScheduledFunction): string =>
  `Every ${rateMinutes} minute: ${lambda}`;
const describeConsumer = ({ source }: QueueConsumer): string => `Consumes ${source}`;

/** The function behind a route of the API, by way of its integration. */
function functionBehind(route: Resource): Resource {
  const integration = resourcesOf(template, "AWS::ApiGatewayV2::Integration").find(
    ([id]) => id === referenced(route.Properties.Target),
  )?.[1];
  const found = functions.get(referenced(integration?.Properties.IntegrationUri) ?? "");
  if (integration?.Properties.PayloadFormatVersion !== "2.0" || found === undefined) {
    throw new Error(`no function behind ${route.Properties.RouteKey}`);
  }
  return found;
}

/** The statements of every policy attached to the role of `fn`. */
function statementsOf(fn: Resource): readonly { Action: string | string[]; Resource: unknown }[] {
  const roleId = referenced(fn.Properties.Role);
  return resourcesOf(template, "AWS::IAM::Policy")
    .filter(([, policy]) => (policy.Properties.Roles as unknown[]).some((role) => referenced(role) === roleId))
    .flatMap(([, policy]) => (policy.Properties.PolicyDocument as { Statement: [] }).Statement);
}

describe("the table", () => {
  test("is one, on demand, restorable, encrypted, and kept", () => {
    template.resourceCountIs("AWS::DynamoDB::GlobalTable", 1);
    expect(tableResource).toMatchObject({
      DeletionPolicy: "Retain",
      UpdateReplacePolicy: "Retain",
      Properties: {
        BillingMode: "PAY_PER_REQUEST",
        KeySchema: [
          { AttributeName: table.partitionKey, KeyType: "HASH" },
          { AttributeName: table.sortKey, KeyType: "RANGE" },
        ],
        SSESpecification: { SSEEnabled: true, SSEType: "KMS" },
        TimeToLiveSpecification: { AttributeName: table.timeToLiveAttribute, Enabled: true },
        Replicas: [
          {
            DeletionProtectionEnabled: true,
            PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
          },
        ],
      },
    });
  });

  test("has no index and no stream, which would be billed on every write", () => {
    expect(tableResource?.Properties).not.toHaveProperty("GlobalSecondaryIndexes");
    expect(tableResource?.Properties).not.toHaveProperty("StreamSpecification");
  });
});

describe("the API", () => {
  const apiRoutes = resourcesOf(template, "AWS::ApiGatewayV2::Route").map(([, resource]) => resource);

  test("has exactly the listed routes", () => {
    expect(apiRoutes.map((route) => route.Properties.RouteKey).sort()).toEqual(
      routes.map((route) => `${route.method} ${route.path}`).sort(),
    );
  });

  test("gives every route a function of its own", () => {
    expect(new Set(apiRoutes.map(functionBehind)).size).toBe(routes.length);
    expect(functions.size).toBe(routes.length + schedules.length + consumers.length);
  });

  test.each(apiRoutes.map((route) => [String(route.Properties.RouteKey), route] as const))(
    "%s asks for the authorization that its list entry names",
    (key, route) => {
      expect(route.Properties.AuthorizationType).toBe(key === "GET /health" ? "NONE" : "AWS_IAM");
      expect(functionBehind(route).Properties.Description).toBe(key);
    },
  );

  test("is throttled and logs each request", () => {
    template.hasResourceProperties("AWS::ApiGatewayV2::Stage", {
      StageName: "$default",
      AutoDeploy: true,
      DefaultRouteSettings: { ThrottlingRateLimit: 2500, ThrottlingBurstLimit: 2500 },
    });
    const [stage] = resourcesOf(template, "AWS::ApiGatewayV2::Stage").map(([, { Properties }]) => Properties);
    const destination = referenced(stage?.AccessLogSettings);
    expect(resourcesOf(template, "AWS::Logs::LogGroup").map(([id]) => id)).toContain(destination);
  });
});

describe("each function", () => {
  const all = [...functions].map(([id, fn]) => [String(fn.Properties.Description), id, fn] as const);

  /** Those that may send to the command queue. */
  const senders = new Set([
    ...routes.filter((route) => route.sends).map((route) => `${route.method} ${route.path}`),
    ...schedules.filter((schedule) => schedule.sends).map(describeSchedule),
    ...consumers.map(describeConsumer),
  ]);

  test.each(all)(
    "%s runs on Node 24 and Arm, traced, for at most 30 s, and knows the table and where it may send",
    (description, _id, fn) => {
      expect(fn.Properties).toMatchObject({
        Runtime: "nodejs24.x",
        Architectures: ["arm64"],
        Handler: "index.handler",
        Timeout: 30,
        MemorySize: 1024,
        TracingConfig: { Mode: "Active" },
      });
      const { Variables } = fn.Properties.Environment as { Variables: Record<string, unknown> };
      expect(Variables).toEqual({
        CAIRN_TABLE: { Ref: tableId },
        ...(senders.has(description) && { CAIRN_COMMAND_QUEUE_URL: { Ref: commandsId } }),
      });
    },
  );

  test.each(all)("%s has a log group of its own that forgets after 30 days", (_description, _id, fn) => {
    const logGroupId = referenced((fn.Properties.LoggingConfig as { LogGroup: unknown }).LogGroup);
    const users = all.filter(
      ([, , other]) => referenced((other.Properties.LoggingConfig as { LogGroup: unknown }).LogGroup) === logGroupId,
    );
    const logGroup = resourcesOf(template, "AWS::Logs::LogGroup").find(([id]) => id === logGroupId)?.[1];

    expect(users).toHaveLength(1);
    expect(logGroup?.Properties.RetentionInDays).toBe(30);
  });

  const granted = {
    none: [],
    read: [...readActions].sort(),
    write: [...readActions, ...writeActions].sort(),
    whole: [...wholeActions].sort(),
  };
  const expected = new Map<string, readonly string[]>([
    ...routes.map((route) => [`${route.method} ${route.path}`, granted[route.tableAccess]] as const),
    ...schedules.map((schedule) => [describeSchedule(schedule), granted.write] as const),
    ...consumers.map((consumer) => [describeConsumer(consumer), granted.write] as const),
  ]);

  test.each(all)("%s may do with the table what its list entry says, and no more", (description, _id, fn) => {
    const onTable = statementsOf(fn).filter((statement) => [statement.Action].flat()[0]?.startsWith("dynamodb:"));
    const actions = onTable.flatMap((statement) => statement.Action).sort();

    expect(actions).toEqual(expected.get(description));
    for (const statement of onTable) expect([statement.Resource].flat().map(referenced)).toEqual([tableId]);
  });

  /** The queues on which the function may do so. */
  const mayOn = (fn: Resource, action: string) =>
    statementsOf(fn)
      .filter((statement) => [statement.Action].flat().includes(action))
      .map((statement) => referenced(statement.Resource));

  test.each(all)(
    "%s may send to the command queue if it is listed so, and take only what it consumes",
    (name, _id, fn) => {
      const sources = { "Consumes commands": [commandsId], "Consumes failed-commands": [failedId] };

      expect(mayOn(fn, "sqs:SendMessage")).toEqual(senders.has(name) ? [commandsId] : []);
      expect(mayOn(fn, "sqs:ReceiveMessage")).toEqual(sources[name as keyof typeof sources] ?? []);
    },
  );

  test("may do nothing on every resource but send traces", () => {
    const everywhere = all
      .flatMap(([, , fn]) => statementsOf(fn))
      .filter((statement) => statement.Resource === "*")
      .flatMap((statement) => statement.Action);

    expect([...new Set(everywhere)].sort()).toEqual(["xray:PutTelemetryRecords", "xray:PutTraceSegments"]);
  });
});

describe("the schedule", () => {
  test("calls each of its functions every minute and does not pile up failed runs", () => {
    const rules = resourcesOf(template, "AWS::Events::Rule").map(([, rule]) => rule.Properties);

    expect(rules).toHaveLength(schedules.length);
    for (const rule of rules) expect(rule).toMatchObject({ ScheduleExpression: "rate(1 minute)", State: "ENABLED" });
    const targets = rules.flatMap((rule) => rule.Targets as { Arn: unknown; RetryPolicy: unknown }[]);
    const called = targets.map(({ Arn }) => functions.get(referenced(Arn) ?? "")?.Properties.Description);
    expect(called.toSorted()).toEqual(schedules.map(describeSchedule).toSorted());
    for (const { RetryPolicy } of targets) {
      expect(RetryPolicy).toEqual({ MaximumEventAgeInSeconds: 60, MaximumRetryAttempts: 0 });
    }
    template.hasResourceProperties("AWS::Lambda::EventInvokeConfig", { MaximumRetryAttempts: 0 });
  });
});

describe("the command queue", () => {
  test("and its dead-letter queue keep the order of each group at SQS's high throughput, encrypted", () => {
    expect(sqsQueues).toHaveLength(2);
    for (const [, { Properties }] of sqsQueues) {
      expect(Properties).toMatchObject({
        FifoQueue: true,
        ContentBasedDeduplication: false,
        DeduplicationScope: "messageGroup",
        FifoThroughputLimit: "perMessageGroupId",
        SqsManagedSseEnabled: true,
      });
    }
  });

  test("delivers again after a function's time is over, soon enough to go on within a minute", () => {
    expect(commands?.Properties).toMatchObject({ VisibilityTimeout: 40, MessageRetentionPeriod: 12 * 3_600 });
    for (const [, fn] of functions) expect(fn.Properties.Timeout).toBeLessThan(queues.commands.visibilitySeconds);
  });

  test("gives up after 10 deliveries, and then keeps the message for 4 days", () => {
    const redrive = commands?.Properties.RedrivePolicy as { deadLetterTargetArn: unknown; maxReceiveCount: number };

    expect(redrive.maxReceiveCount).toBe(10);
    expect(referenced(redrive.deadLetterTargetArn)).toBe(failedId);
    expect(failed?.Properties.MessageRetentionPeriod).toBe(4 * 86_400);
  });

  test("refuses whoever comes without TLS, as the dead-letter queue does", () => {
    const policies = resourcesOf(template, "AWS::SQS::QueuePolicy").map(([, policy]) => policy.Properties);
    const denied = policies.map(({ Queues, PolicyDocument }) => ({
      queue: referenced(Queues),
      statements: (PolicyDocument as { Statement: unknown }).Statement,
    }));

    expect(denied.map(({ queue }) => queue).sort()).toEqual([commandsId, failedId].sort());
    for (const { statements } of denied) {
      expect(statements).toMatchObject([
        { Effect: "Deny", Action: "sqs:*", Condition: { Bool: { "aws:SecureTransport": "false" } } },
      ]);
    }
  });

  test("and its dead-letter queue have a consumer each, which may leave messages of a batch undone", () => {
    const sources = resourcesOf(template, "AWS::Lambda::EventSourceMapping").map(([, source]) => source.Properties);
    const described = sources.map((source) => [
      functions.get(referenced(source.FunctionName) ?? "")?.Properties.Description,
      referenced(source.EventSourceArn),
    ]);

    expect(described.sort()).toEqual([
      ["Consumes commands", commandsId],
      ["Consumes failed-commands", failedId],
    ]);
    for (const source of sources) {
      expect(source).toMatchObject({ BatchSize: 1, FunctionResponseTypes: ["ReportBatchItemFailures"] });
    }
  });
});

test("the outputs name the API's URL and the table", () => {
  const outputs = template.toJSON().Outputs as Record<string, { Value: unknown }>;

  expect(referenced(outputs.ApiUrl?.Value)).toBe(resourcesOf(template, "AWS::ApiGatewayV2::Api")[0]?.[0]);
  expect(outputs.TableName?.Value).toEqual({ Ref: tableId });
});
