import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { openApiDocument } from "./openapi/document.ts";

const root = fileURLToPath(new URL("../", import.meta.url));
const file = `${root}docs/openapi.json`;

// Writes docs/openapi.json; with --check only says whether it is the current one.
const fresh = formatted(JSON.stringify(openApiDocument(), null, 2));
if (!process.argv.includes("--check")) {
  writeFileSync(file, fresh);
} else if (readFileSync(file, "utf8") !== fresh) {
  console.error("docs/openapi.json is stale. Refresh it: node tools/openapi.ts");
  process.exitCode = 1;
}

/** As the format check wants it. */
function formatted(json: string): string {
  const biome = `${root}node_modules/@biomejs/biome/bin/biome`;
  const args = [biome, "format", "--stdin-file-path=docs/openapi.json"];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: root, input: json, encoding: "utf8" });
  if (status !== 0) throw new Error(`biome could not format the document: ${stderr}`);
  return stdout;
}
