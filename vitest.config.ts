import { defineConfig } from "vitest/config";

const ci = process.env.CI !== undefined && process.env.CI !== "";

export default defineConfig({
  test: {
    environment: "node",
    include: ["test/**/*.test.ts"],
    globals: false,
    // Most files start real processes; more than two at a time make each other late on a small machine.
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // `.ci/run` takes its closing counts from the file.
    reporters: ci ? ["default", ["json", { outputFile: "reports/vitest.json" }]] : ["default"],
  },
});
