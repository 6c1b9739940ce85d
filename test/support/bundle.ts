/** The handlers as the stack bundles them, in one script: each run of it is the memory of another process. */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Script } from "node:vm";
import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import type { SQSClient } from "@aws-sdk/client-sqs";
import { build } from "esbuild";
import { consumers, routes, schedules } from "../../cdk/routes.ts";
import type { Handler } from "../../local/handlers.ts";

export type LoadHandler = () => Promise<{ readonly handler: Handler }>;

/** What one run of the script gives. */
export interface Loaded {
  /** By the name of the handler's file below `lambdas/`. */
  readonly handlers: ReadonlyMap<string, LoadHandler>;
  readonly connection: DynamoDBClient;
  readonly queueConnection: SQSClient;
}

/** The handlers with a memory of their own. The environment is read while the script runs: once a process, as in the real ones. */
export const loadBundle = async (table: string, commandQueueUrl: string): Promise<Loaded> => {
  bundle ??= compiled();
  const { script, packages } = await bundle;
  const run = script.runInThisContext() as (...given: readonly unknown[]) => void;
  const module: { exports: Exports } = { exports: {} };
  process.env.CAIRN_TABLE = table;
  process.env.CAIRN_COMMAND_QUEUE_URL = commandQueueUrl;
  run((name: string) => packages.get(name), module, module.exports);
  const { client: connection, queueClient: queueConnection, handlers } = module.exports;
  if (connection === undefined || queueConnection === undefined || handlers === undefined) {
    throw new Error("the handlers could not be loaded");
  }
  return { handlers: new Map(Object.entries(handlers)), connection, queueConnection };
};

interface Exports {
  readonly client?: DynamoDBClient;
  readonly queueClient?: SQSClient;
  readonly handlers?: Readonly<Record<string, LoadHandler>>;
}

const compiled = async (): Promise<Bundle> => {
  const lambdas = [...new Set([...routes, ...schedules, ...consumers].map(({ lambda }) => lambda))];
  const { outputFiles, metafile } = await build({
    stdin: {
      contents: [
        'export { client, queueClient } from "./shared/config.ts";',
        // Each is loaded by its first request, as a function of its own would be.
        `export const handlers = { ${lambdas.map((l) => `"${l}": () => import("./lambdas/${l}.ts")`).join(", ")} };`,
      ].join("\n"),
      resolveDir: root,
    },
    bundle: true,
    packages: "external",
    platform: "node",
    format: "cjs",
    target: "node24",
    sourcemap: "inline",
    write: false,
    metafile: true,
  });
  const code = outputFiles[0]?.text ?? "";
  const filename = join(root, "in-process.cjs");
  const imports = Object.values(metafile.outputs).flatMap((output) => output.imports.map(({ path }) => path));
  const packages = new Map<string, unknown>();
  for (const path of imports) {
    const module: { default?: unknown } = await import(path);
    // A package's default export is what the bundle takes for the package itself.
    packages.set(path, typeof module.default === "function" ? module.default : module);
  }
  return { script: new Script(`(function (require, module, exports) {${code}\n})`, { filename }), packages };
};

interface Bundle {
  readonly script: Script;
  readonly packages: ReadonlyMap<string, unknown>;
}

const root = fileURLToPath(new URL("../..", import.meta.url));
let bundle: Promise<Bundle> | undefined;
