import { afterAll, beforeAll, expect, test } from "vitest";
import { useInProcessService } from "../support/in-process.ts";
import { Matrix, type Result } from "./matrix.ts";
import { nameOf } from "./operation.ts";
import { branches } from "./operations/branches.ts";
import { LANES, only, seed, TIMEOUT_MS } from "./settings.ts";

const service = useInProcessService();
const operations = branches.filter((operation) => only === undefined || nameOf(operation).includes(only));
const results = new Map<string, Promise<Result>>();

beforeAll(() => {
  const matrix = new Matrix(service, LANES);
  for (const operation of operations) {
    const result = matrix.run(operation);
    result.catch(() => undefined);
    results.set(nameOf(operation), result);
  }
});

test.for(operations.map(nameOf))("%s", { timeout: TIMEOUT_MS }, async (name) => {
  const result = await results.get(name);
  expect({ failures: result?.failures, missed: result?.missed }).toEqual({ failures: [], missed: [] });
});

afterAll(async () => {
  const all = (await Promise.allSettled(results.values())).flatMap((each) =>
    each.status === "fulfilled" ? [each.value] : [],
  );
  const sum = (of: (result: Result) => number) => all.reduce((total, result) => total + of(result), 0);
  const survived = sum(({ cases, failures }) => cases - failures.length);
  console.log(
    `crash matrix: ${operations.length} operations, ${sum(({ calls }) => calls)} calls, ${sum(({ cases }) => cases)} cases, ${survived} survived (seed ${seed})`,
  );
});
