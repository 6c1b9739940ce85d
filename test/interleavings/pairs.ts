/** The tests of a file of pairs: each in every order, within a bound in `npm test`. */
import { afterAll, describe, expect, test } from "vitest";
import { useInProcessService } from "../support/in-process.ts";
import { type Proof, proveOne, provePair } from "./prove.ts";
import type { Scenario } from "./scenario.ts";
import { atMost, schedule, seed, TIMEOUT_MS } from "./settings.ts";
import { stageFor } from "./stage.ts";

/** Runs each of these with two operations at a time, and prints how many schedules that were. */
export const testPairs = (what: string, scenarios: readonly Scenario[]): void => {
  const service = useInProcessService();
  let total = 0;
  let pairs = 0;
  describe(`Every order of two operations: ${what}`, () => {
    test.for([...scenarios])("$name", { timeout: TIMEOUT_MS }, async (scenario) => {
      const stage = await stageFor(service, 2);
      if (schedule !== undefined) return proveOne(stage, scenario, schedule);
      const proof = await provePair(stage, scenario, atMost, seed);
      expect(proof.schedules).toBeGreaterThan(1);
      total += proof.schedules;
      pairs += 1;
      console.info(lineOf(scenario.name, proof));
    });
    afterAll(() => console.info(`${what}: ${total} schedules of ${pairs} pairs (seed ${seed})`));
  });
};

/** `commit / rollback: 4 schedules, every order`. */
export const lineOf = (name: string, { schedules, isComplete, repeated, diverged, also }: Proof): string =>
  [
    `${name}: ${schedules} schedules`,
    isComplete ? "every order" : "some of them by chance",
    ...(repeated > 0 ? [`${repeated} answers of 503, repeated`] : []),
    ...(diverged > 0 ? [`${diverged} runs went another way than planned`] : []),
    ...[...also].map(([because, times]) => `${times} allowed because ${because}`),
  ].join(", ");
