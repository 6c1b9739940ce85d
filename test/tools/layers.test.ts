import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

const root = fileURLToPath(new URL("../../", import.meta.url));
let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "cairn-layers-"));
  copyFileSync(join(root, ".dependency-cruiser.mjs"), join(folder, ".dependency-cruiser.mjs"));
  // Each module below needs something to import.
  write("shared/store/port.ts", "export const port = 1;");
  write("shared/store/dynamodb.ts", "export const dynamodb = 1;");
  write("shared/domain/limits.ts", "export const limit = 1;");
});
afterEach(() => rmSync(folder, { recursive: true }));

function write(file: string, text: string): void {
  mkdirSync(dirname(join(folder, file)), { recursive: true });
  writeFileSync(join(folder, file), text);
}

/** Runs the layer check over the folder as if it were the repository. */
function layers(): { readonly exitCode: number | null; readonly output: string } {
  const run = spawnSync(process.execPath, [join(root, "tools/layers.ts")], { cwd: folder, encoding: "utf8" });
  return { exitCode: run.status, output: run.stdout + run.stderr };
}

describe("the layer check", () => {
  test("lets a command reach the domain and the port", () => {
    const text = 'import { limit } from "../domain/limits.ts"; import { port } from "../store/port.ts";';
    write("shared/commands/enqueue.ts", `${text} export const sum = limit + port;`);

    expect(layers()).toMatchObject({ exitCode: 0 });
  });

  test("stops each import that the matrix does not name, types too", () => {
    const forbidden = [
      ["shared/domain/run.ts", "../store/port.ts", "shared/domain-imports"],
      ["shared/domain/clock.ts", "node:fs", "shared/domain-imports"],
      ["shared/commands/enqueue.ts", "../store/dynamodb.ts", "shared/commands-imports"],
      ["lambdas/enqueue.ts", "../shared/domain/limits.ts", "lambdas-imports"],
      ["local/start.ts", "../shared/store/port.ts", "local-imports"],
      ["shared/helpers/odd.ts", "../domain/limits.ts", "shared-folders"],
    ] as const;
    for (const [file, target] of forbidden) write(file, `import * as it from "${target}"; export const all = it;`);
    write("shared/records/typed.ts", 'import type { port } from "../store/port.ts"; export type Port = typeof port;');
    const { exitCode, output } = layers();

    for (const [file, , rule] of forbidden) expect(output).toContain(`error ${rule}: ${file}`);
    expect(output).toContain("error shared/records-imports: shared/records/typed.ts");
    expect(output).toContain("(7 errors");
    expect(exitCode).toBe(1);
  });

  test("fails when it saw no module at all", () => {
    rmSync(join(folder, "shared"), { recursive: true });
    mkdirSync(join(folder, "shared"));
    const { exitCode, output } = layers();

    expect(output).toContain("looked at 0 modules");
    expect(exitCode).toBe(1);
  });
});
