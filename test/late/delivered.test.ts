import { beforeAll, describe, expect, test } from "vitest";
import { useInProcessService } from "../support/in-process.ts";
import { attemptRows } from "./attempts.ts";
import { epochRows, type Takeover, takeovers } from "./epochs.ts";
import { incarnationRows } from "./incarnations.ts";
import { type Row, type Stage, toldBy } from "./late.ts";
import { endings, type LeaseEnding, leaseRows } from "./leases.ts";
import { named, newStage } from "./stage.ts";
import { changesBetween, snapshotOf } from "./table.ts";

const service = useInProcessService();

/** One of each route: a fence that is passed by one verb of it, is passed by all. */
const firstOfEach = (rows: readonly Row[]): readonly Row[] =>
  rows.filter((row, i) => rows.findIndex(({ route }) => route === row.route) === i);

const delivered = (rows: readonly Row[]): void => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await newStage(service);
  });
  test.for(named(rows.filter(({ told }) => told !== undefined)))("%s", async ([, row]) => {
    const { send, next } = await row.make(stage);
    await next();
    const before = await snapshotOf(service);
    const told = toldBy(await send());
    expect(changesBetween(before, await snapshotOf(service))).toEqual([]);
    expect(told).toBe(row.told);
  });
};

describe("a request that is delivered late, writes nothing:", () => {
  for (const takeover of Object.keys(takeovers) as Takeover[]) {
    const rows = epochRows(takeover);
    describe(`its epoch was ${takeover}:`, () => delivered(takeover === "resumed" ? rows : firstOfEach(rows)));
  }
  for (const ending of Object.keys(endings) as LeaseEnding[]) {
    describe(`its lease was ${ending}:`, () => delivered(leaseRows(ending)));
  }
  describe("its branch has ended, and another one of the xid begun:", () => delivered(incarnationRows));
  describe("it was sent again and that was done:", () => delivered(attemptRows));
});
