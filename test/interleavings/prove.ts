/** Plays a scenario in every order, or in many, and holds each outcome against those of the serial orders. */
import { explore, nameOf, type Run } from "./explore.ts";
import { randomFrom, sample } from "./random.ts";
import { type Outcome, playInTurns, playSerially, type Scenario, type Stage } from "./scenario.ts";
import type { Notes } from "./turns.ts";
import { judge } from "./verdict.ts";

export interface Proof {
  readonly schedules: number;
  /** Every order was run, up to those that differ only in steps which share no record. */
  readonly isComplete: boolean;
  /** Requests that were told to be repeated, and were. */
  readonly repeated: number;
  /** Runs that went another way than planned. */
  readonly diverged: number;
  /** Outcomes that no serial order gives, by the reason for which they are allowed. */
  readonly also: ReadonlyMap<string, number>;
}

/** Every order while there are at most so many, else those and as many by chance. */
export const provePair = async (stage: Stage, scenario: Scenario, atMost: number, seed: number): Promise<Proof> => {
  const trial = await newTrial(stage, scenario, seed);
  const { schedules, diverged, isComplete } = await explore(trial.run, atMost);
  const more = isComplete ? 0 : await sample(trial.run, atMost, randomFrom(seed));
  return { schedules: schedules + more, diverged, isComplete, ...trial.found };
};

/** So many orders by chance. */
export const proveByChance = async (stage: Stage, scenario: Scenario, count: number, seed: number): Promise<Proof> => {
  const trial = await newTrial(stage, scenario, seed);
  const schedules = await sample(trial.run, count, randomFrom(seed));
  return { schedules, diverged: 0, isComplete: false, ...trial.found };
};

/** One order again, as a failure told it. */
export const proveOne = async (stage: Stage, scenario: Scenario, schedule: string): Promise<void> => {
  const trial = await newTrial(stage, scenario, 0);
  const names = schedule.split(" ");
  await trial.run((open) => {
    const name = names.shift();
    const step = open.find((one) => nameOf(one) === name) ?? open[0];
    if (step === undefined) throw new Error("nothing can move");
    return step;
  });
};

interface Trial {
  readonly run: Run;
  readonly found: { repeated: number; readonly also: Map<string, number> };
}

/** Runs that throw at the first outcome that is wrong. */
const newTrial = async (stage: Stage, scenario: Scenario, seed: number): Promise<Trial> => {
  const serial = await playSerially(stage, scenario);
  const found = { repeated: 0, also: new Map<string, number>() };
  const run: Run = async (choose) => {
    const names: string[] = [];
    const notes: Notes = [];
    const failed = (why: string) =>
      new Error(
        `${scenario.name}: ${why}\n\nafter\n${notes.join("\n")}\n\nagain: SCHEDULE="${names.join(" ")}" (seed ${seed})`,
      );
    let outcome: Outcome;
    try {
      const played = await playInTurns(
        stage,
        scenario,
        (open) => {
          const step = choose(open);
          names.push(nameOf(step));
          return step;
        },
        notes,
      );
      outcome = played.outcome;

      found.repeated += played.repeated;
    } catch (error) {
      throw failed(error instanceof Error ? (error.stack ?? error.message) : String(error));
    }
    const verdict = judge(outcome, serial, scenario.also);
    if (verdict.is === "wrong") throw failed(verdict.why);
    if (verdict.also !== undefined) found.also.set(verdict.also, (found.also.get(verdict.also) ?? 0) + 1);
  };
  return { run, found };
};
