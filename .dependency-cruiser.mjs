/**
 * The import matrix. Each folder may import itself and what stands beside it; everything else is an error.
 * Entries are regular expressions on resolved paths: folders, `node_modules/<package>/`, or a module of Node by its name.
 */
/** Modules of Node that compute and reach nothing. */
const pure = "^(crypto|zlib)$";
const timers = "^timers/promises$";
const domain = "^shared/domain/";
const records = "^shared/records/";
const store = "^shared/store/";
const transport = "^shared/transport/";
const awsSdk = "^node_modules/@aws-sdk/";
const awsLambdaTypes = "^node_modules/@types/aws-lambda/";
/** The verbs know the table and the command queue by their ports only. */
const ports = "^shared/(store|store/replication|transport)/port\\.ts$";
/** Files that stand alone in shared/: the environment and the wiring, the version. */
const alone = "^shared/[^/]+\\.ts$";
/** Packages and modules of Node, for folders that run outside Lambda. */
const anyPackage = "^node_modules/";
const anyNodeModule = "^[^./]+(/promises)?$";

const matrix = {
  "shared/domain": [],
  "shared/records": [domain],
  "shared/store": [domain, records, awsSdk, pure, timers],
  "shared/transport": [domain, awsSdk, pure, timers],
  "shared/commands": [domain, records, ports, pure, timers],
  "shared/edge": [domain, ports, "^node_modules/(@middy|zod)/", awsLambdaTypes, pure],
  // A handler passes a command's refusal on, so it must know one when it sees it; no other part of the domain.
  lambdas: ["^shared/(commands|edge)/", store, transport, alone, "^shared/domain/refusal\\.ts$", awsLambdaTypes],
  cdk: ["^node_modules/(aws-cdk-lib|cdk-nag|constructs)/", anyNodeModule],
  local: ["^cdk/(queue|routes|table)\\.ts$", anyPackage, anyNodeModule],
  // The API's description is made from the routes and from what checks their requests; the command line reads tables with
  // the commands' own eyes, those of a local service among them.
  tools: [
    domain,
    records,
    store,
    "^cdk/routes\\.ts$",
    "^shared/(commands/|edge/|version)",
    "^local/",
    anyPackage,
    anyNodeModule,
  ],
};

const layers = Object.entries(matrix).map(([folder, allowed]) => ({
  name: `${folder}-imports`,
  comment: `What ${folder}/ may import stands in the matrix of .dependency-cruiser.mjs.`,
  severity: "error",
  from: { path: `^${folder}/` },
  to: { pathNot: [`^${folder}/`, ...allowed] },
}));

export default {
  forbidden: [
    ...layers,
    {
      name: "shared-folders",
      comment: "A folder of shared/ that has no row in the matrix may not import anything: add the row first.",
      severity: "error",
      from: { path: "^shared/(?!(domain|records|store|transport|commands|edge)/)[^/]+/" },
      to: {},
    },
    {
      name: "config-imports",
      comment: "shared/config.ts reads the environment and wires what handlers use; no layer below lambdas/ knows it.",
      severity: "error",
      from: { path: alone },
      to: { pathNot: [alone, domain, "^shared/commands/", store, transport] },
    },
    {
      name: "not-to-config",
      comment: "The environment is read once, above the layers.",
      severity: "error",
      from: { path: "^shared/[^/]+/" },
      to: { path: "^shared/config\\.ts$" },
    },
    {
      name: "not-to-tests",
      comment: "Nothing imports test/, bench/, demo/, tools/ or docs/ but themselves and tests.",
      severity: "error",
      from: { path: "^(shared|lambdas|cdk|local)/" },
      to: { path: "^(test|bench|demo|tools|docs)/" },
    },
    {
      name: "not-to-development-packages",
      comment: "What runs in Lambda may only use `dependencies`; types alone may come from elsewhere.",
      severity: "error",
      from: { path: "^(shared|lambdas)/" },
      to: { dependencyTypes: ["npm-dev", "npm-no-pkg", "npm-unknown"], dependencyTypesNot: ["type-only"] },
    },
    {
      name: "no-circular",
      comment: "Modules that need each other to load. Types that refer to each other vanish before that.",
      severity: "error",
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ["type-only"] } },
    },
    { name: "resolvable", severity: "error", from: {}, to: { couldNotResolve: true } },
  ],
  options: {
    doNotFollow: { path: "^node_modules/" },
    // Types count too: a layer that knows another's types depends on it.
    tsPreCompilationDeps: true,
    enhancedResolveOptions: { exportsFields: ["exports"], conditionNames: ["import", "node", "default", "types"] },
  },
};
