import { App, Validations } from "aws-cdk-lib";
import { AwsSolutionsChecks } from "cdk-nag";
import { ReplicaStack } from "./replica-stack.ts";
import { replicasIn } from "./replicas.ts";
import { CairnStack } from "./stack.ts";

// No account and no region: the template is the same everywhere, and synthesis needs neither network nor credentials.
const app = new App();
const replicas = replicasIn(app.node.tryGetContext("replicas"));
const stack = new CairnStack(app, "Cairn", { replicas });
for (const replica of replicas) {
  // What feeds a table comes after it.
  stack.addStackDependency(new ReplicaStack(app, `CairnReplica-${replica.region}`, replica));
}
Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
