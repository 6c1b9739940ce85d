/** A part of the crash matrix: every so manieth of its operations, a test each. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { useInProcessService } from "../support/in-process.ts";
import { keepDraws } from "./draws.ts";
import { sumUp } from "./figures.ts";
import { Matrix, type Result } from "./matrix.ts";
import { nameOf, type Operation } from "./operation.ts";
import { all } from "./operations/all.ts";
import { isThorough, LANES, only, PARTS, SMOKE, TIMEOUT_MS } from "./settings.ts";

/** Some at once, so that no lane waits for the last answer of one. */
const TRACKS = 6;

const isWanted = (name: string): boolean =>
  only === undefined ? isThorough || SMOKE.includes(name) : name.includes(only);

/** The longest first: the others fill what they leave of the time. */
const wanted: readonly Operation[] = all
  .filter((operation) => isWanted(nameOf(operation)))
  .toSorted((a, b) => Number(b.isLarge === true) - Number(a.isLarge === true));

/** The tests of the part of that number, from 0. */
export const playPart = (part: number): void => {
  const service = useInProcessService();
  const operations = wanted.filter((_, i) => i % PARTS === part);
  const results = new Map<string, Promise<Result>>();
  let endDraws = () => {};
  beforeAll(() => {
    endDraws = keepDraws();
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
    endDraws();
    const sum = sumUp(part, { operations: operations.length, ...(await figuresOf(results)) });
    if (sum !== undefined) console.log(`crash matrix: ${sum}`);
  });
  test.for(operations.map(nameOf))(
    "whatever happens to a call of the SDK, the operation is done once or not at all: %s",
    { timeout: TIMEOUT_MS },
    async (name) => {
      const result = await results.get(name);
      // A message of its own: a comparison would show the first line.
      if (result === undefined || result.failures.length > 0) throw new Error(result?.failures.join("\n\n"));
      expect(result.missed, "calls that no case struck").toEqual([]);
    },
  );
};

const figuresOf = async (results: ReadonlyMap<string, Promise<Result>>) => {
  const done = (await Promise.allSettled(results.values())).flatMap((each) =>
    each.status === "fulfilled" ? [each.value] : [],
  );
  const sum = (of: (result: Result) => number) => done.reduce((total, result) => total + of(result), 0);
  return {
    calls: sum((each) => each.calls),
    cases: sum((each) => each.cases),
    failed: sum((each) => each.failures.length),
  };
};
