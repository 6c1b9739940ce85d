import { expect, it } from "vitest";
import { report } from "../history/verdict.ts";
import { useCluster } from "../support/cluster.ts";
import { totalLoss } from "./loss.ts";

const RUNS = Number(process.env.REPLICA_RUNS ?? 3);
const first = Number(process.env.SEED ?? 1);

const underTest = useCluster();

it.each(Array.from({ length: process.env.SEED === undefined ? RUNS : 1 }, (_, i) => first + i))(
  "after the loss of the primary its replica has all that was told, and no half of anything (SEED=%i)",
  async (seed) => {
    const { anomalies, wrongs, line } = await totalLoss(underTest, seed);
    process.stdout.write(`total loss, SEED=${seed}: ${line}\n`);
    expect(
      report(anomalies.slice(0, 5))
        .replaceAll(/x{100,}/g, "…")
        .replaceAll(/^(.{400}).*$/gm, "$1…"),
    ).toBe("");
    expect(wrongs).toEqual([]);
  },
  120_000,
);
