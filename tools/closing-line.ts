import { readFileSync } from "node:fs";

/** What `.ci/run` needs of vitest's JSON report. */
interface Report {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly numTodoTests: number;
  readonly testResults: readonly { readonly status: string; readonly assertionResults: readonly unknown[] }[];
}

/**
 * The line that closes `.ci/run`, and how many failures it counts. A test file that did not load counts as one
 * failure, and so does a failed check, a run in which nothing ran, and an error outside any test.
 */
export function closingLine(
  report: Report,
  testsExit: number,
  checkExit: number,
): { readonly line: string; readonly failed: number } {
  const unloaded = report.testResults.filter((file) => file.status === "failed" && file.assertionResults.length === 0);
  const failedTests = report.numFailedTests + unloaded.length;
  const ranNothing = report.numPassedTests + failedTests === 0;
  const failedOutsideTests = failedTests === 0 && (ranNothing || testsExit !== 0);
  const failed = failedTests + Number(failedOutsideTests) + Number(checkExit !== 0);
  const skipped = report.numPendingTests + report.numTodoTests;
  return {
    line: `${report.numPassedTests} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`,
    failed,
  };
}

// node tools/closing-line.ts <report> <exit code of the tests> <exit code of the check>
if (import.meta.main) {
  const [file = "", testsExit, checkExit] = process.argv.slice(2);
  const { line, failed } = closingLine(readReport(file), Number(testsExit), Number(checkExit));
  console.log(line);
  process.exitCode = failed > 0 ? 1 : 0;
}

/** No report means that the tests did not get as far as writing one. */
function readReport(file: string): Report {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch {
    return { numPassedTests: 0, numFailedTests: 0, numPendingTests: 0, numTodoTests: 0, testResults: [] };
  }
}
