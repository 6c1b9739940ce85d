import { existsSync } from "node:fs";
import { cruise, type ICruiseResult } from "dependency-cruiser";
import extractDepcruiseOptions from "dependency-cruiser/config-utl/extract-depcruise-options";

/** The folders that hold code. */
export const folders: readonly string[] = ["cdk", "lambdas", "shared", "local", "tools", "test", "bench", "demo"];

/**
 * Every module of the repository with its imports, and the violations of `.dependency-cruiser.mjs`.
 * Throws when it saw none: under an unsupported compiler dependency-cruiser finds nothing and reports success.
 */
export async function cruiseRepository(): Promise<ICruiseResult> {
  const { output } = await cruise(
    folders.filter((folder) => existsSync(folder)),
    await extractDepcruiseOptions("./.dependency-cruiser.mjs"),
  );
  if (typeof output === "string") throw new Error("dependency-cruiser was asked for an object and answered text");
  if (output.modules.length === 0 || output.summary.totalDependenciesCruised === 0) {
    throw new Error("dependency-cruiser looked at 0 modules; does it support this version of typescript?");
  }
  return output;
}
