/**
 * The handlers as the stack bundles them, in two scripts: modules that keep nothing run once, those that keep something and
 * all that use them once for each process: each run of them is the memory of another one.
 */
import { readFile } from "node:fs/promises";
import { isBuiltin } from "node:module";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { Script } from "node:vm";
import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import type { SQSClient } from "@aws-sdk/client-sqs";
import { build, type Metafile, type Plugin } from "esbuild";
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
  const { script, modules } = await bundle;
  process.env.CAIRN_TABLE = table;
  process.env.CAIRN_COMMAND_QUEUE_URL = commandQueueUrl;
  const { client: connection, queueClient: queueConnection, handlers } = run(script, modules) as Exports;
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

interface Bundle {
  readonly script: Script;
  /** What the script requires: packages, and modules that keep nothing. */
  readonly modules: ReadonlyMap<string, unknown>;
}

const root = fileURLToPath(new URL("../..", import.meta.url));
let bundle: Promise<Bundle> | undefined;

const compiled = async (): Promise<Bundle> => {
  const lambdas = [...new Set([...routes, ...schedules, ...consumers].map(({ lambda }) => lambda))];
  const contents = [
    'export { client, queueClient } from "./shared/config.ts";',
    // Each is loaded by its first request, as a function of its own would be.
    `export const handlers = { ${lambdas.map((l) => `"${l}": () => import("./lambdas/${l}.ts")`).join(", ")} };`,
  ].join("\n");
  const { metafile } = await bundled(contents);
  const lasting = await lastingOf(metafile);
  const packages = await packagesOf(metafile);
  const shared = run(
    scriptOf(
      "once.cjs",
      await bundled([...lasting].map((path, i) => `export * as m${i} from "./${path}";`).join("\n")),
    ),
    packages,
  ) as Readonly<Record<string, unknown>>;
  const modules = new Map([...packages, ...[...lasting].map((path, i) => [path, shared[`m${i}`]] as const)]);
  return { script: scriptOf("in-process.cjs", await bundled(contents, lasting)), modules };
};

/** `elsewhere`: modules that are required instead, by their paths from the root. */
const bundled = (contents: string, elsewhere: ReadonlySet<string> = new Set()) =>
  build({
    stdin: { contents, resolveDir: root },
    absWorkingDir: root,
    bundle: true,
    packages: "external",
    platform: "node",
    format: "cjs",
    target: "node24",
    sourcemap: "inline",
    write: false,
    metafile: true,
    plugins: [requiring(elsewhere)],
  });

const requiring = (elsewhere: ReadonlySet<string>): Plugin => ({
  name: "requiring",
  setup(building) {
    building.onResolve({ filter: /^\./ }, ({ path: named, resolveDir }) => {
      const path = relative(root, join(resolveDir, named));
      return elsewhere.has(path) ? { path, external: true } : undefined;
    });
  },
});

type Built = Awaited<ReturnType<typeof bundled>>;

/** What it requires is there as it is, under its own name, and need not be copied at each run. */
const scriptOf = (name: string, { outputFiles }: Built): Script => {
  const code = (outputFiles[0]?.text ?? "").replace(/__toESM\((require\("[^"]+"\))(?:, 1)?\)/g, "$1");
  return new Script(`(function (require, module, exports) {${code}\n})`, { filename: join(root, name) });
};

const run = (script: Script, modules: ReadonlyMap<string, unknown>): object => {
  const module = { exports: {} };
  const body = script.runInThisContext() as (...given: readonly unknown[]) => void;
  body((name: string) => modules.get(name), module, module.exports);
  return module.exports;
};

/**
 * A variable of the module, or a collection that something may be put into; what the process was started with. What is kept
 * by an object of one process, no other one finds.
 */
const KEEPS =
  /^(?:export )?(?:let |const \w+(?:: (?!Readonly)[^=]+)? = new (?!Weak)\w+(?:<.*>)?\(\))|\bprocess\.env\b/m;

/** Of the modules of a bundle those that keep nothing, and use none that does. */
const lastingOf = async ({ inputs }: Metafile): Promise<ReadonlySet<string>> => {
  const files = Object.entries(inputs).filter(([path]) => path.endsWith(".ts"));
  const keeping = new Set<string>();
  for (const [path] of files) if (KEEPS.test(await readFile(join(root, path), "utf8"))) keeping.add(path);
  for (let before = 0; before < keeping.size; ) {
    before = keeping.size;
    for (const [path, { imports }] of files) if (imports.some((each) => keeping.has(each.path))) keeping.add(path);
  }
  return new Set(files.map(([path]) => path).filter((path) => !keeping.has(path)));
};

const packagesOf = async ({ outputs }: Metafile): Promise<ReadonlyMap<string, unknown>> => {
  const packages = new Map<string, unknown>();
  for (const path of Object.values(outputs).flatMap(({ imports }) => imports.map((each) => each.path))) {
    const module = (await import(path)) as object;
    // Those of Node as they are: what tests put in their place is seen then.
    packages.set(path, isBuiltin(path) ? module : { ...module });
  }
  return packages;
};
