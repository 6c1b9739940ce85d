import type { Anomaly } from "./anomaly.ts";
import { branches, outcomes } from "./check-branches.ts";
import { commands } from "./check-commands.ts";
import { counters, depths, fences } from "./check-counts.ts";
import { letters } from "./check-letters.ts";
import { limits } from "./check-limits.ts";
import { messages } from "./check-messages.ts";
import { order } from "./check-order.ts";
import { gather } from "./facts.ts";
import type { Entry } from "./history.ts";

/** Every anomaly of a history that ends with the outcome of each branch, stats at rest, and a drain of each queue. */
export const check = (entries: readonly Entry[]): readonly Anomaly[] => {
  const facts = gather(entries);
  return [
    ...outcomes(facts),
    ...branches(facts),
    ...messages(facts),
    ...letters(facts),
    ...limits(facts),
    ...order(facts),
    ...depths(facts),
    ...counters(facts),
    ...fences(facts),
    ...commands(facts),
  ];
};
