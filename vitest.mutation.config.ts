import { defineConfig } from "vitest/config";

/** The tests of the pure code, which start nothing: what a mutation of it is held against. */
export default defineConfig({
  test: {
    environment: "node",
    include: ["test/domain/**/*.test.ts", "test/records/**/*.test.ts"],
    setupFiles: ["test/mutation.setup.ts"],
    globals: false,
    maxWorkers: 1,
    // Thousands of runs: what one file leaves in memory is nothing that another one reads.
    isolate: false,
  },
});
