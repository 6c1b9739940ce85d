/** Whether an outcome is one that some order of whole requests allows. */
import type { Counters } from "./look.ts";
import type { Allowed, Outcome } from "./scenario.ts";

export type Verdict =
  /** `also`: not by an order, but for that reason. */
  { readonly is: "allowed"; readonly also?: string } | { readonly is: "wrong"; readonly why: string };

export const judge = (outcome: Outcome, serial: readonly Outcome[], also: readonly Allowed[] = []): Verdict => {
  const same = serial.filter((one) => textOf(one) === textOf(outcome));
  if (same.length > 0) {
    return same.some((one) => isNotBehind(outcome, one))
      ? { is: "allowed" }
      : { is: "wrong", why: `a counter runs behind: ${countersOf(outcome)} where ${countersOf(same[0])} was done` };
  }
  const reason = also.find(({ allows }) => allows(outcome, serial));
  if (reason !== undefined) return { is: "allowed", also: reason.because };
  return { is: "wrong", why: `no order gives\n${textOf(outcome)}\nbut\n${distinct(serial).join("\n")}` };
};

/** An outcome without its counters, to compare and to read. */
const textOf = ({ told, seen: { counters: _, ...seen } }: Outcome): string => JSON.stringify({ told, ...seen });

const distinct = (outcomes: readonly Outcome[]): readonly string[] => [...new Set(outcomes.map(textOf))];

const countersOf = (outcome: Outcome | undefined): string => JSON.stringify(outcome?.seen.counters);

const isNotBehind = (outcome: Outcome, serial: Outcome): boolean =>
  Object.entries(serial.seen.counters).every(([queue, least]) => {
    const counters = outcome.seen.counters[queue];
    return counters !== undefined && names.every((name) => counters[name] >= least[name]);
  });

const names: readonly (keyof Counters)[] = ["enqueued", "settled", "deadLettered"];
