/** A part of the crash matrix: every so manieth of its operations, a test each. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { useInProcessService } from "../support/in-process.ts";
import { keepDraws } from "./draws.ts";
import { claim, closeLedger, type Entry, enter, entryOf, openLedger } from "./ledger.ts";
import { Matrix } from "./matrix.ts";
import { isWork, nameOf, type Operation } from "./operation.ts";
import { all } from "./operations/all.ts";
import { isThorough, LANES, only, PARTS, SMOKE, seed, TIMEOUT_MS } from "./settings.ts";

/** Some at once, so that no lane waits for the last answer of one. */
const TRACKS = 6;

const isWanted = (name: string): boolean =>
  only === undefined ? isThorough || SMOKE.includes(name) : name.includes(only);

/** The more it takes the greater. */
const weightOf = (operation: Operation): number =>
  operation.isLarge === true ? 2 : Number(isWork(operation) || operation.route.startsWith("schedule/"));

interface Numbered {
  readonly number: number;
  readonly operation: Operation;
}

/** The longest first: the others fill what they leave of the time. */
const wanted: readonly Numbered[] = all
  .filter((operation) => isWanted(nameOf(operation)))
  .toSorted((a, b) => weightOf(b) - weightOf(a))
  .map((operation, number) => ({ number, operation }));

const isOf = (part: number, { number }: Numbered): boolean => number % PARTS === part;

/** The tests of the part of that number, from 0. Who is done with the own operations plays those that others have not begun. */
export const playPart = (part: number): void => {
  const service = useInProcessService();
  const own = wanted.filter((each) => isOf(part, each));
  let endDraws = () => {};
  let played: Promise<unknown> = Promise.resolve();
  beforeAll(() => {
    endDraws = keepDraws();
    openLedger();
    const matrix = new Matrix(service, LANES);
    const left = [...own, ...wanted.filter((each) => !isOf(part, each)).reverse()];
    const track = async () => {
      for (let next = left.shift(); next !== undefined; next = left.shift()) {
        if (claim(next.number)) enter(next.number, await entryFor(matrix, next.operation));
      }
    };
    played = Promise.all(Array.from({ length: TRACKS }, track));
  });
  afterAll(async () => {
    await played;
    endDraws();
    const entries = closeLedger(part);
    if (entries !== undefined) console.log(`crash matrix: ${figuresOf(entries)}`);
  }, TIMEOUT_MS);
  test.for(own.map(({ number, operation }) => ({ number, name: nameOf(operation) })))(
    "whatever happens to a call of the SDK, the operation is done once or not at all: $name",
    { timeout: TIMEOUT_MS },
    async ({ number }) => {
      const entry = await entryOf(number);
      // A message of its own: a comparison would show the first line.
      if ("error" in entry) throw new Error(entry.error);
      if (entry.failures.length > 0) throw new Error(entry.failures.join("\n\n"));
      expect(entry.missed, "calls that no case struck").toEqual([]);
    },
  );
};

const entryFor = async (matrix: Matrix, operation: Operation): Promise<Entry> => {
  try {
    return await matrix.run(operation);
  } catch (error) {
    return { error: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
};

const figuresOf = (entries: readonly Entry[]): string => {
  const results = entries.flatMap((entry) => ("error" in entry ? [] : [entry]));
  const sum = (of: (result: (typeof results)[number]) => number) =>
    results.reduce((total, each) => total + of(each), 0);
  const [calls, cases] = [sum((each) => each.calls), sum((each) => each.cases)];
  const survived = cases - sum((each) => each.failures.length);
  return `${entries.length} operations, ${calls} calls, ${cases} cases, ${survived} survived (seed ${seed})`;
};
