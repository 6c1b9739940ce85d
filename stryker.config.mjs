// How strict the tests of the pure code are: see docs/mutation.md.

/** @type {import("@stryker-mutator/api/core").PartialStrykerOptions} */
export default {
  mutate: ["shared/domain/**/*.ts", "shared/records/**/*.ts"],
  testRunner: "vitest",
  plugins: ["@stryker-mutator/vitest-runner"],
  vitest: { configFile: "test/mutation.config.ts", related: false },
  coverageAnalysis: "perTest",
  concurrency: 1,
  // What neither a change of the code nor of the tests has touched is not run again.
  incremental: true,
  incrementalFile: "reports/mutation-incremental.json",
  timeoutMS: 10_000,
  reporters: ["clear-text", "json"],
  clearTextReporter: { allowColor: false, allowEmojis: false, reportTests: false, reportScoreTable: true },
  jsonReporter: { fileName: "reports/mutation.json" },
  tempDirName: ".stryker-tmp",
  ignorePatterns: ["cdk.out", "reports", ".cairn", "bench", "demo", "docs"],
  disableTypeChecks: false,
  thresholds: { high: 95, low: 90, break: 90 },
};
