import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { routes, schedules } from "../../cdk/routes.ts";
import { useInProcessService } from "../support/in-process.ts";
import { Matrix, type Result } from "./matrix.ts";
import { nameOf } from "./operation.ts";
import { all } from "./operations/all.ts";
import { isThorough, LANES, only, SMOKE, seed, TIMEOUT_MS } from "./settings.ts";

const service = useInProcessService();

const isWanted = (name: string): boolean =>
  only === undefined ? isThorough || SMOKE.includes(name) : name.includes(only);
const operations = all.filter((operation) => isWanted(nameOf(operation)));

const results = new Map<string, Promise<Result>>();

/** Some at once, so that no lane waits for the last answer of one. */
const TRACKS = 6;

beforeAll(() => {
  const matrix = new Matrix(service, LANES);
  const tracks: Promise<unknown>[] = Array.from({ length: TRACKS }, async () => undefined);
  for (const [i, operation] of operations.entries()) {
    const result = tracks[i % TRACKS]?.then(() => matrix.run(operation));
    if (result === undefined) throw new Error("every operation has a track");
    tracks[i % TRACKS] = result.catch(() => undefined);
    results.set(nameOf(operation), result);
  }
});

afterAll(async () => {
  const done = (await Promise.allSettled(results.values())).flatMap((each) =>
    each.status === "fulfilled" ? [each.value] : [],
  );
  const sum = (of: (result: Result) => number) => done.reduce((total, result) => total + of(result), 0);
  const [calls, cases, failed] = [
    sum((each) => each.calls),
    sum((each) => each.cases),
    sum((each) => each.failures.length),
  ];
  console.log(
    `crash matrix: ${operations.length} operations, ${calls} calls, ${cases} cases, ${cases - failed} survived (seed ${seed})`,
  );
});

describe("whatever happens to a call of the SDK, the operation is done once or not at all:", () => {
  test.for(operations.map(nameOf))("%s", { timeout: TIMEOUT_MS }, async (name) => {
    const result = await results.get(name);
    // A message of its own: a comparison would show the first line.
    if (result === undefined || result.failures.length > 0) throw new Error(result?.failures.join("\n\n"));
    expect(result.missed, "calls that no case struck").toEqual([]);
  });
});

test("every route and every schedule has an operation in the matrix, and no operation another one", () => {
  const known = [...routes.map(({ method, path }) => `${method} ${path}`), ...schedules.map(({ lambda }) => lambda)];
  expect([...new Set(all.map(({ route }) => route))].sort()).toEqual(known.sort());
});

test("no two operations have one name, and what the smoke slice names is there", () => {
  const names = all.map(nameOf);
  expect(new Set(names).size).toBe(names.length);
  expect(names).toEqual(expect.arrayContaining([...SMOKE]));
});
