import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { IModule } from "dependency-cruiser";
import { cruiseRepository, folders } from "./cruise.ts";

const page = fileURLToPath(new URL("../docs/architecture.md", import.meta.url));
const begin = "<!-- import-graph:begin -->";
const end = "<!-- import-graph:end -->";

/** Folders that may import everything: their edges would only hide the others. */
const leftOut = new Set(["test", "bench", "demo"]);

// Writes the import graph into docs/architecture.md; with --check only says whether the page has the current one.
const current = readFileSync(page, "utf8");
const fresh = withGraph(current, mermaid((await cruiseRepository()).modules));
if (!process.argv.includes("--check")) {
  writeFileSync(page, fresh);
} else if (fresh !== current) {
  console.error("docs/architecture.md: the import graph is stale. Refresh it: node tools/import-graph.ts");
  process.exitCode = 1;
}

/** The page with whatever stands between its markers replaced by `graph`. */
function withGraph(text: string, graph: string): string {
  const from = text.indexOf(begin);
  const to = text.indexOf(end);
  if (from === -1 || to < from) throw new Error(`docs/architecture.md lacks the markers ${begin} and ${end}`);
  return `${text.slice(0, from + begin.length)}\n${graph}\n${text.slice(to)}`;
}

/** One node a folder and one arrow for each folder that it imports; dotted when it takes nothing but types. */
function mermaid(modules: readonly IModule[]): string {
  const arrows = new Map<string, "types" | "code">();
  for (const module of modules) {
    const from = folderOf(module.source);
    for (const { resolved, dependencyTypes } of module.dependencies) {
      const to = folderOf(resolved);
      if (from === undefined || to === undefined || from === to) continue;
      const arrow = `${from} ${to}`;
      if (!dependencyTypes.includes("type-only")) arrows.set(arrow, "code");
      else if (!arrows.has(arrow)) arrows.set(arrow, "types");
    }
  }
  const lines = [...arrows].sort(([a], [b]) => (a < b ? -1 : 1)).map(([arrow, kind]) => edge(arrow, kind));
  return ["```mermaid", "flowchart TD", ...lines, "```"].join("\n");
}

function edge(arrow: string, kind: "types" | "code"): string {
  const [from = "", to = ""] = arrow.split(" ");
  return `  ${node(from)} ${kind === "types" ? "-.->" : "-->"} ${node(to)}`;
}

function node(folder: string): string {
  return `${folder.replaceAll(/\W/g, "_")}["${folder}"]`;
}

/** `shared/store`, `lambdas`, `shared/config.ts`; undefined for packages, modules of Node and what is left out. */
function folderOf(path: string): string | undefined {
  const [top = "", second = ""] = path.split("/");
  if (!folders.includes(top) || leftOut.has(top)) return undefined;
  return top === "shared" ? `${top}/${second}` : top;
}
