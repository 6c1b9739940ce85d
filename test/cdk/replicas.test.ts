import { Template } from "aws-cdk-lib/assertions";
import { describe, expect, test } from "vitest";
import { readActions, wholeActions, writeActions } from "../../cdk/constructs/handler-function.ts";
import { replicasIn } from "../../cdk/replicas.ts";
import { consumers, rejoining, routes, schedules } from "../../cdk/routes.ts";
import { type Resource, referenced, resourcesOf, synthesized, testApp } from "./synthesized.ts";

const replicas = replicasIn("eu-west-1,us-east-1");
const { stack, replicaStacks } = testApp(replicas);
const template = Template.fromStack(stack);
const plain = synthesized();
const functions = resourcesOf(template, "AWS::Lambda::Function");
const isFeed = ([, fn]: readonly [string, Resource]): boolean => /^Feeds /.test(String(fn.Properties.Description));
const feeds = functions.filter(isFeed);
const isRejoining = ([, fn]: readonly [string, Resource]): boolean =>
  String(fn.Properties.Description).endsWith(rejoining.lambda);
const handlers = functions.filter((fn) => !isFeed(fn));

const variablesOf = (fn: Resource) => (fn.Properties.Environment as { Variables: Record<string, unknown> }).Variables;

/** What the function's role may do, by what: the table, its stream, or the replica of a region. */
const grantsOf = (fn: Resource): Record<string, readonly string[]> => {
  const grants: Record<string, string[]> = {};
  for (const [, { Properties }] of resourcesOf(template, "AWS::IAM::Policy")) {
    if (!(Properties.Roles as unknown[]).some((role) => referenced(role) === referenced(fn.Properties.Role))) continue;
    for (const { Action, Resource } of (
      Properties.PolicyDocument as { Statement: { Action: string | string[]; Resource: unknown }[] }
    ).Statement) {
      for (const one of [Resource].flat()) {
        const actions = [Action].flat().filter((action) => action.startsWith("dynamodb:"));
        if (actions.length > 0) grants[placeOf(one)] = [...(grants[placeOf(one)] ?? []), ...actions].sort();
      }
    }
  }
  return grants;
};

const placeOf = (resource: unknown): string => {
  const text = JSON.stringify(resource);
  const region = /:dynamodb:([\w-]+):.*:table\/cairn-replica-([\w-]+)"/.exec(text);
  if (region !== null) return region[1] === region[2] ? `${region[1]}` : text;
  return text.includes("StreamArn") ? "stream" : "table";
};

describe("the context", () => {
  test("names one or two regions, or none", () => {
    expect(replicasIn(undefined)).toEqual([]);
    expect(replicasIn("eu-west-1")).toEqual([{ region: "eu-west-1", tableName: "cairn-replica-eu-west-1" }]);
    expect(replicas.map(({ region }) => region)).toEqual(["eu-west-1", "us-east-1"]);
  });

  test.each(["", "nowhere", "eu-west-1,", "eu-west-1,eu-west-1", "eu-west-1,us-east-1,us-west-2", "EU-WEST-1", 5])(
    "is refused when it is %o",
    (context) => {
      expect(() => replicasIn(context)).toThrow("one or two regions");
    },
  );
});

describe("without replicas", () => {
  test("nothing in the template speaks of them", () => {
    expect(JSON.stringify(plain.toJSON())).not.toMatch(/CAIRN_REPLICA|cairn-replica|StreamSpecification|ListStreams/);
  });

  test("every resource is there that is there with them, and under its own name", () => {
    const typesOf = (of: Template) =>
      Object.entries(of.toJSON().Resources as Record<string, Resource>).map(([id, { Type }]) => `${id} ${Type}`);
    const added = typesOf(template).filter((one) => !typesOf(plain).includes(one));
    expect(typesOf(plain).filter((one) => !typesOf(template).includes(one))).toEqual([]);
    expect(added.filter((one) => !/^(Feed(EuWest1|UsEast1)|ScheduleRejoin)/.test(one))).toEqual([]);
  });
});

describe("a replica", () => {
  test.each(replicaStacks.map((of, i) => [replicas[i]?.region, of] as const))(
    "in %s is a stack with a table of a known name, kept as the first one is",
    (region, of) => {
      const own = Template.fromStack(of);
      expect(of.region).toBe(region);
      own.resourceCountIs("AWS::DynamoDB::GlobalTable", 1);
      const [[, table] = []] = resourcesOf(own, "AWS::DynamoDB::GlobalTable");
      const [[, first] = []] = resourcesOf(plain, "AWS::DynamoDB::GlobalTable");
      const { TableName, Replicas, ...rest } = table?.Properties ?? {};
      const { Replicas: firstReplicas, ...firstRest } = first?.Properties ?? {};
      expect(TableName).toBe(`cairn-replica-${region}`);
      expect(rest).toEqual(firstRest);
      expect(table?.DeletionPolicy).toBe("Retain");
      expect(Replicas).toEqual([{ ...(firstReplicas as object[])[0], Region: region }]);
    },
  );

  test("is fed by a function of its own from the table's stream, which has both images", () => {
    const [[tableId, table] = []] = resourcesOf(template, "AWS::DynamoDB::GlobalTable");
    expect(table?.Properties.StreamSpecification).toEqual({ StreamViewType: "NEW_AND_OLD_IMAGES" });
    const mappings = resourcesOf(template, "AWS::Lambda::EventSourceMapping")
      .map(([, { Properties }]) => Properties)
      .filter(({ StartingPosition }) => StartingPosition !== undefined);
    expect(mappings.map(({ FunctionName }) => referenced(FunctionName)).sort()).toEqual(feeds.map(([id]) => id).sort());
    for (const mapping of mappings) {
      expect(mapping).toMatchObject({
        StartingPosition: "TRIM_HORIZON",
        BatchSize: 100,
        MaximumRetryAttempts: -1,
        BisectBatchOnFunctionError: false,
        EventSourceArn: { "Fn::GetAtt": [tableId, "StreamArn"] },
      });
      expect(mapping).not.toHaveProperty("MaximumRecordAgeInSeconds");
    }
  });

  test.each(feeds)("%s knows it, and may write nothing else", (_id, fn) => {
    const { CAIRN_REPLICA_TABLE, CAIRN_REPLICA_REGION, CAIRN_REPLICATED } = variablesOf(fn);
    expect(CAIRN_REPLICA_TABLE).toBe(`cairn-replica-${CAIRN_REPLICA_REGION}`);
    expect(CAIRN_REPLICATED).toBeUndefined();
    expect(grantsOf(fn)).toEqual({
      [String(CAIRN_REPLICA_REGION)]: [...readActions, ...writeActions].sort(),
      stream: ["dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator", "dynamodb:ListStreams"],
    });
  });

  test("is known to all who may read or write the table: they wait for it, and tell it changes of the cluster", () => {
    expect(feeds).toHaveLength(2);
    expect(handlers).toHaveLength(routes.length + schedules.length + consumers.length + 1);
    const told = [...readActions, "dynamodb:PutItem", "dynamodb:UpdateItem"].sort();
    for (const [, fn] of handlers.filter((one) => !isRejoining(one))) {
      expect(variablesOf(fn).CAIRN_REPLICATED).toBe("1");
      const { table, ...others } = grantsOf(fn);
      expect(others).toEqual(table === undefined ? {} : { "eu-west-1": told, "us-east-1": told });
      // Even one that only reads may have to give a replica up.
      expect(table ?? []).toEqual(table === undefined ? [] : [...readActions, ...writeActions].sort());
    }
  });

  test("that was given up joins again by a function that reads all tables as wholes, for up to its period", () => {
    const whole = [...wholeActions].sort();
    const [fn, ...others] = handlers.filter(isRejoining);
    if (fn === undefined) throw new Error("there is no such function");
    expect(others).toEqual([]);
    expect(grantsOf(fn[1])).toEqual({ table: whole, "eu-west-1": whole, "us-east-1": whole });
    expect(fn[1].Properties.Timeout).toBe(rejoining.rateMinutes * 60);
  });
});
