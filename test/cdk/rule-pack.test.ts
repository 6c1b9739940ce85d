import { Validations } from "aws-cdk-lib";
import { Queue } from "aws-cdk-lib/aws-sqs";
import { AwsSolutionsChecks } from "cdk-nag";
import type { IConstruct } from "constructs";
import { describe, expect, test } from "vitest";
import { replicasIn } from "../../cdk/replicas.ts";
import { testApp } from "./synthesized.ts";

/** Rule ids with the resources that break them, leaving out acknowledged ones. */
function findings(root: IConstruct): readonly string[] {
  const report = new AwsSolutionsChecks(root).validateScope(root);
  return report.violations.flatMap(({ ruleName, violatingResources }) =>
    violatingResources.map(({ constructPath }) => `${ruleName} at ${constructPath}`),
  );
}

/** Every acknowledgement below `root`: the rule's id and the reason given. */
function acknowledgements(root: IConstruct): readonly (readonly [id: string, reason: string])[] {
  return root.node
    .findAll()
    .flatMap((construct) => construct.node.metadata)
    .filter((entry) => entry.type === Validations.ACKNOWLEDGED_RULES_METADATA_KEY)
    .flatMap((entry) => Object.entries(entry.data as Record<string, string>));
}

describe("the AwsSolutions rule pack", () => {
  test("finds nothing that is not acknowledged", () => {
    expect(findings(testApp().app)).toEqual([]);
    expect(findings(testApp(replicasIn("eu-west-1,us-east-1")).app)).toEqual([]);
  });

  test("does look: an unencrypted queue is found", () => {
    const { app, stack } = testApp();
    new Queue(stack, "Plain");

    expect(findings(app)).toContain("AwsSolutions-SQS3 at Cairn/Plain/Resource");
  });

  test("has only these rules acknowledged, each with a reason", () => {
    const acknowledged = acknowledgements(testApp().app);

    expect([...new Set(acknowledged.map(([id]) => id.replace(/^annotation::/i, "")))].sort()).toEqual([
      "AwsSolutions-APIG4",
      "AwsSolutions-IAM5[Resource::*]",
    ]);
    for (const [, reason] of acknowledged) expect(reason.length).toBeGreaterThan(40);
  });
});
