import fc from "fast-check";

/** A mutation that survives so many histories would survive some more: there are thousands of mutations. */
const RUNS = 20;

fc.configureGlobal({ numRuns: RUNS });
