import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

interface Step {
  readonly name: string;
  /** A script for Node, and its arguments. */
  readonly script: readonly string[];
}

/** Biome then leaves out what git leaves out, reports and data of earlier runs among it. */
const heedGitignore = ["--vcs-enabled=true", "--vcs-client-kind=git", "--vcs-use-ignore-file=true"];

const steps: readonly Step[] = [
  { name: "types", script: ["node_modules/typescript/bin/tsc", "--noEmit"] },
  {
    name: "lint and format",
    script: ["node_modules/@biomejs/biome/bin/biome", "check", "--error-on-warnings", ...heedGitignore],
  },
  { name: "layers", script: ["tools/layers.ts"] },
  { name: "dead code", script: ["node_modules/knip/bin/knip.js", "--no-config-hints"] },
  { name: "generated import graph", script: ["tools/import-graph.ts", "--check"] },
  { name: "generated OpenAPI document", script: ["tools/openapi.ts", "--check"] },
];

// Runs every step, also after one failed, so that one run shows all there is to mend. Exits with 1 if any failed.
const failed = steps.filter((step) => !passes(step));
if (failed.length > 0) {
  console.error(`check failed: ${failed.map(({ name }) => name).join(", ")}`);
  process.exitCode = 1;
}

/** Runs one step and prints one line for it; the tool's own output only when it fails. */
function passes({ name, script }: Step): boolean {
  const startedAtMs = performance.now();
  const { status, stdout, stderr, error } = spawnSync(process.execPath, script, {
    cwd: fileURLToPath(new URL("..", import.meta.url)),
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
  });
  const seconds = ((performance.now() - startedAtMs) / 1000).toFixed(1);
  const ok = status === 0;
  console.log(`${ok ? "ok  " : "FAIL"} ${name} (${seconds} s)`);
  if (!ok) console.log(`${stdout ?? ""}${stderr ?? ""}${error?.message ?? ""}`.trimEnd());
  return ok;
}
