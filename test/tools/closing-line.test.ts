import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { closingLine } from "../../tools/closing-line.ts";

const file = (status: string, tests: number) => ({
  status,
  assertionResults: Array.from({ length: tests }, () => ({})),
});
const report = (passed: number, failed: number, pending = 0) => ({
  numPassedTests: passed,
  numFailedTests: failed,
  numPendingTests: pending,
  numTodoTests: 0,
  testResults: [file(failed > 0 ? "failed" : "passed", passed + failed + pending)],
});
const withUnloadedFile = { ...report(12, 0), testResults: [file("passed", 12), file("failed", 0)] };

describe("the closing line of .ci/run", () => {
  test.each([
    ["all passed", report(12, 0), 0, 0, "12 passed, 0 failed"],
    ["one failed", report(11, 1), 1, 0, "11 passed, 1 failed"],
    ["some skipped", report(10, 0, 2), 0, 0, "10 passed, 0 failed, 2 skipped"],
    ["a failed check counts as one", report(12, 0), 0, 1, "12 passed, 1 failed"],
    ["a failed test and a failed check", report(11, 1), 1, 1, "11 passed, 2 failed"],
    ["nothing ran", report(0, 0), 0, 0, "0 passed, 1 failed"],
    ["an error outside any test", report(12, 0), 1, 0, "12 passed, 1 failed"],
    ["a file that did not load", withUnloadedFile, 1, 0, "12 passed, 1 failed"],
  ])("%s", (_name, counts, testsExit, checkExit, line) => {
    const closing = closingLine(counts, testsExit, checkExit);

    expect(closing.line).toBe(line);
    expect(closing.failed > 0).toBe(!line.includes(" 0 failed"));
  });

  test("without a report it says that nothing passed, and fails", () => {
    const script = fileURLToPath(new URL("../../tools/closing-line.ts", import.meta.url));
    const { stdout, status } = spawnSync(process.execPath, [script, "absent.json", "1", "0"], { encoding: "utf8" });

    expect(stdout).toBe("0 passed, 1 failed\n");
    expect(status).toBe(1);
  });
});
