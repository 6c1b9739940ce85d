/** Schedules by chance: the same seed takes the same turns, as far as the operations ask the same questions. */
import type { Run, Step } from "./explore.ts";
import { nameOf } from "./explore.ts";

/** Numbers from 0 up to 1, decided by the seed (Mulberry32). */
export const randomFrom = (seed: number): (() => number) => {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
};

/** Runs so many schedules, the next step being anyone's; how many different ones that were. */
export const sample = async (run: Run, count: number, random: () => number): Promise<number> => {
  const seen = new Set<string>();
  for (let runs = 0; runs < count; runs += 1) {
    const names: string[] = [];
    await run((open) => {
      const step = anyOf(open, random);
      names.push(nameOf(step));
      return step;
    });
    seen.add(names.join(" "));
  }
  return seen.size;
};

/** First which operation, then which of its steps: one that waits for many answers at once gets no more turns for it. */
const anyOf = (open: readonly Step[], random: () => number): Step => {
  const operations = [...new Set(open.map(({ operation }) => operation))];
  const operation = operations[Math.floor(random() * operations.length)];
  const steps = open.filter((step) => step.operation === operation);
  const step = steps[Math.floor(random() * steps.length)];
  if (step === undefined) throw new Error("nothing can move");
  return step;
};
