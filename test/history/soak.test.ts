import { expect, it } from "vitest";
import { runSoak } from "./run-soak.ts";
import { report, summaryOf } from "./verdict.ts";

const seed = Number(process.env.SEED ?? 1);

it("a short soak: kills, jumps of the clock, takeovers and lost answers leave a history without an anomaly", async () => {
  process.stdout.write(`soak seed ${seed} (SEED=${seed} repeats its choices)\n`);
  const { entries, anomalies } = await runSoak({ seconds: 20, seed, log: () => {} });
  expect(report(anomalies)).toBe("");
  // Nothing happens in an empty history either.
  const summary = summaryOf(entries);
  for (const what of [
    "enqueued",
    "published",
    "delivered",
    "committed",
    "dead letters",
    "sent as transient",
    "commands",
    "completions",
  ]) {
    expect(summary[what], what).toBeGreaterThan(0);
  }
}, 300_000);
