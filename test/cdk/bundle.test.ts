import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { App, Stack } from "aws-cdk-lib";
import { afterAll, expect, test } from "vitest";
import { HandlerFunction } from "../../cdk/constructs/handler-function.ts";
import { MessageTable } from "../../cdk/constructs/message-table.ts";

/** Bytes. A cold start loads the whole bundle: about 370 KB of it are the SDK's clients, 95 KB zod, 70 KB ours. */
const largestBundle = 580_000;

const folder = mkdtempSync(join(tmpdir(), "cairn-bundle-"));
afterAll(() => rmSync(folder, { recursive: true }));

test("the handler with the most behind it bundles small, and loads as the module that Lambda would load", () => {
  const file = bundle("dtx/commit");

  expect(file.bytes).toBeGreaterThan(1000);
  expect(file.bytes).toBeLessThan(largestBundle);
  expect(typeOfHandler(file.path)).toBe("function");
}, 120_000);

/** Bundles one handler as the stack does. */
function bundle(lambda: string): { readonly path: string; readonly bytes: number } {
  const app = new App({ outdir: folder });
  const stack = new Stack(app, "One");
  const table = new MessageTable(stack, "Table");
  new HandlerFunction(stack, "Handler", { lambda, description: lambda, table, tableAccess: "write" });
  app.synth();

  const asset = readdirSync(folder).find((name) => name.startsWith("asset."));
  const path = join(folder, asset ?? "", "index.mjs");
  return { path, bytes: readFileSync(path).length };
}

/** Loads a bundle in a process of its own, with the environment that the stack gives it. */
function typeOfHandler(path: string): string {
  const program = `const { handler } = await import(${JSON.stringify(path)}); console.log(typeof handler);`;
  return execFileSync(process.execPath, ["--input-type=module", "--eval", program], {
    env: { CAIRN_TABLE: "cairn", AWS_REGION: "eu-central-1" },
    encoding: "utf8",
  }).trim();
}
