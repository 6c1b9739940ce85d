import { readFileSync } from "node:fs";
import { App } from "aws-cdk-lib";
import { Template } from "aws-cdk-lib/assertions";
import { ReplicaStack } from "../../cdk/replica-stack.ts";
import type { Replica } from "../../cdk/replicas.ts";
import { CairnStack } from "../../cdk/stack.ts";

/** One CloudFormation resource of the synthesized template. */
export interface Resource {
  readonly Type: string;
  readonly Properties: Record<string, unknown>;
  readonly DeletionPolicy?: string;
}

export interface TestApp {
  readonly app: App;
  readonly stack: CairnStack;
  readonly replicaStacks: readonly ReplicaStack[];
}

/** The app as `cdk.json` configures it, but without bundling, which no assertion on the template needs. */
export function testApp(replicas: readonly Replica[] = []): TestApp {
  const { context } = JSON.parse(readFileSync(new URL("../../cdk.json", import.meta.url), "utf8"));
  const app = new App({ context: { ...context, "aws:cdk:bundling-stacks": [] } });
  const stack = new CairnStack(app, "Cairn", { replicas });
  const replicaStacks = replicas.map((replica) => new ReplicaStack(app, `CairnReplica-${replica.region}`, replica));
  return { app, stack, replicaStacks };
}

/** The synthesized template. */
export function synthesized(): Template {
  return Template.fromStack(testApp().stack);
}

/** Every resource of `type`, as `[logical id, resource]`. */
export function resourcesOf(template: Template, type: string): readonly (readonly [string, Resource])[] {
  return Object.entries(template.findResources(type)) as [string, Resource][];
}

/** The logical id behind a `Ref`, a `Fn::GetAtt`, or the first of them inside a `Fn::Join`. */
export function referenced(value: unknown): string | undefined {
  if (Array.isArray(value)) return value.map(referenced).find((id) => id !== undefined);
  if (value === null || typeof value !== "object") return undefined;
  if ("Ref" in value && typeof value.Ref === "string" && !value.Ref.startsWith("AWS::")) return value.Ref;
  if ("Fn::GetAtt" in value && Array.isArray(value["Fn::GetAtt"])) return value["Fn::GetAtt"][0];
  return referenced(Object.values(value));
}
