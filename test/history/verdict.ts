import type { Anomaly } from "./anomaly.ts";
import { outcomeIn } from "./facts.ts";
import { described, type Entry } from "./history.ts";
import { commandIn, readsOf } from "./resolve.ts";

/** What a history has in it, for a line: a soak in which little happened shows little. */
export const summaryOf = (entries: readonly Entry[]): Readonly<Record<string, number>> => {
  const told = (call: string): readonly Entry[] =>
    entries.filter((entry) => entry.asked.call === call && entry.told !== undefined && !("refused" in entry.told));
  const outcomes = told("outcome").map(outcomeIn);
  const delivered = [...told("acquire"), ...told("drain")].flatMap((entry) =>
    entry.told !== undefined && "deliveries" in entry.told ? entry.told.deliveries : [],
  );
  return {
    calls: entries.length,
    unanswered: entries.filter((entry) => entry.told === undefined).length,
    published: told("publish").reduce((n, { asked }) => n + (asked.call === "publish" ? asked.messages.length : 0), 0),
    enqueued: told("enqueue").reduce((n, { asked }) => n + (asked.call === "enqueue" ? asked.messages.length : 0), 0),
    delivered: delivered.length,
    redelivered: delivered.filter(({ redelivered }) => redelivered).length,
    "dead letters": delivered.filter(({ dead }) => dead !== undefined).length,
    redriven: told("redrive").reduce((n, { told }) => n + (told && "redriven" in told ? told.redriven : 0), 0),
    "sent as transient": entries.filter(({ asked }) => "isTransient" in asked && asked.isTransient === true).length,
    commands: entries.filter((entry) => commandIn(entry) !== undefined).length,
    completions: readsOf(entries).reduce((n, { completions, isAtRest }) => n + (isAtRest ? completions.length : 0), 0),
    "refused as full": entries.filter(
      ({ told }) => told !== undefined && "refused" in told && told.refused === "resource-limit-exceeded",
    ).length,
    attached: told("attach").length,
    committed: outcomes.filter((outcome) => outcome === "committed").length,
    "rolled back": outcomes.filter((outcome) => outcome === "rolled-back").length,
    kills: entries.filter(({ asked }) => asked.call === "event" && asked.what.startsWith("kill")).length,
    jumps: entries.filter(({ asked }) => asked.call === "event" && asked.what.startsWith("the clock")).length,
  };
};

/** Each anomaly with the entries that show it. */
export const report = (anomalies: readonly Anomaly[]): string =>
  anomalies
    .map(({ name, says, slice }) => `${name}: ${says}\n${slice.map((entry) => `  ${described(entry)}\n`).join("")}`)
    .join("");
