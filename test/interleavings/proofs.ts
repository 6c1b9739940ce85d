/** The tests of a file: pairs in every order, triples by chance, within a bound in `npm test`. */
import { afterAll, describe, expect, test } from "vitest";
import { useInProcessService } from "../support/in-process.ts";
import { type Proof, proveByChance, proveOne, provePair } from "./prove.ts";
import type { Scenario, Stage } from "./scenario.ts";
import { atMost, longAtMost, schedule, seed, TIMEOUT_MS, triplesAtMost } from "./settings.ts";
import { stageFor } from "./stage.ts";

/** Runs each of these with two operations at a time, and prints how many schedules that were. */
export const testPairs = (what: string, scenarios: readonly Scenario[]): void =>
  testAll(what, "pairs", 2, scenarios, (stage, scenario) =>
    provePair(stage, scenario, scenario.isLong === true ? longAtMost : atMost, seed),
  );

/** The same with three, each order by chance. */
export const testTriples = (what: string, scenarios: readonly Scenario[]): void =>
  testAll(what, "triples", 3, scenarios, (stage, scenario) => proveByChance(stage, scenario, triplesAtMost, seed));

const testAll = (
  what: string,
  kind: "pairs" | "triples",
  operations: number,
  scenarios: readonly Scenario[],
  prove: (stage: Stage, scenario: Scenario) => Promise<Proof>,
): void => {
  const service = useInProcessService();
  let total = 0;
  let proven = 0;
  describe(`Orders of ${kind}: ${what}`, () => {
    test.for([...scenarios])("$name", { timeout: TIMEOUT_MS }, async (scenario) => {
      const stage = await stageFor(service, operations);
      if (schedule !== undefined) return proveOne(stage, scenario, schedule);
      const proof = await prove(stage, scenario);
      expect(proof.schedules).toBeGreaterThan(0);
      total += proof.schedules;
      proven += 1;
      console.info(lineOf(scenario.name, proof));
    });
    afterAll(() => console.info(`${what}: ${total} schedules of ${proven} ${kind} (seed ${seed})`));
  });
};

/** `commit / rollback: 4 schedules, every order`. */
const lineOf = (name: string, { schedules, isComplete, repeated, diverged, also }: Proof): string =>
  [
    `${name}: ${schedules} schedules`,
    isComplete ? "every order" : "by chance",
    ...(repeated > 0 ? [`${repeated} answers of 503, repeated`] : []),
    ...(diverged > 0 ? [`${diverged} runs went another way than planned`] : []),
    ...[...also].map(([because, times]) => `${times} allowed because ${because}`),
  ].join(", ");
