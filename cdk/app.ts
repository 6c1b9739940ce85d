import { App, Validations } from "aws-cdk-lib";
import { AwsSolutionsChecks } from "cdk-nag";
import { CairnStack } from "./stack.ts";

// No account and no region: the template is the same everywhere, and synthesis needs neither network nor credentials.
const app = new App();
new CairnStack(app, "Cairn");
Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
