import { beforeAll, describe, expect, test } from "vitest";
import { routes } from "../../cdk/routes.ts";
import { useInProcessService } from "../support/in-process.ts";
import { attemptRows, queueRows } from "./attempts.ts";
import { epochRows, type Takeover, takeovers } from "./epochs.ts";
import { incarnationRows } from "./incarnations.ts";
import { type Kind, kinds, type Row, type Stage, toldBy } from "./late.ts";
import { endings, type LeaseEnding, leaseRows } from "./leases.ts";
import { none } from "./none.ts";
import { changesBetween, changesButCounters, snapshotOf } from "./table.ts";
import { underWay } from "./under-way.ts";

const service = useInProcessService();

/** Two processes on a table without records. */
const newStage = async (): Promise<Stage> => {
  const table = await service.newTable();
  const [late, others] = [await service.process("late"), await service.process("others")];
  await Promise.all([late.restart(table), others.restart(table)]);
  return { late: late.client, others: others.client, wait: service.wait };
};

const nameOf = ({ route, how }: Row): string => `${route} ${how}`;

const delivered = (rows: readonly Row[]): void => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await newStage();
  });
  test.for(rows.flatMap((row) => (row.told === undefined ? [] : [[nameOf(row), row] as const])))(
    "%s",
    async ([, row]) => {
      const { send, next } = await row.make(stage);
      await next();
      const before = await snapshotOf(service);
      const told = toldBy(await send());
      expect(changesBetween(before, await snapshotOf(service))).toEqual([]);
      expect(told).toBe(row.told);
    },
  );
};

const heldOn = (rows: readonly Row[]): void => {
  test.for(rows.map((row) => [nameOf(row), row] as const))("%s", async ([, row]) => {
    const process = await service.process("late");
    let stage = await newStage();
    let checked = 0;
    for (let index = 0; ; index += 1) {
      // What goes through the whole table, is alone in it.
      if (row.route === "POST /recovery") stage = await newStage();
      const { send, next, knowsBy } = await row.make(stage);
      const held = await underWay(process, index, send);
      if (held === undefined) break;
      await next();
      const before = await snapshotOf(service);
      const told = toldBy(await held.goOn());
      const changes = changesButCounters(before, await snapshotOf(service)).filter(
        (change) => !held.madeItself(change),
      );
      if (knowsBy !== undefined && !held.hadRead(knowsBy)) continue;
      const isRefused = [row.told, ...row.toldUnderWay].includes(told);
      if (row.mayLand?.when(held) === true && !isRefused) continue;
      checked += 1;
      const where = `held at call ${index}, ${held.what}`;
      expect({ where, changes }).toEqual({ where, changes: [] });
      // What was done before it was held, is told as done.
      expect(isRefused || held.hadWritten, `${where}: ${told}`).toBe(true);
    }
    expect(checked).toBeGreaterThan(0);
  });
};

describe("a request that is delivered late, writes nothing:", () => {
  for (const takeover of Object.keys(takeovers) as Takeover[]) {
    describe(`its epoch was ${takeover}:`, () => delivered(epochRows(takeover)));
  }
  for (const ending of Object.keys(endings) as LeaseEnding[]) {
    describe(`its lease was ${ending}:`, () => delivered(leaseRows(ending)));
  }
  describe("its branch has ended, and another one of the xid begun:", () => delivered(incarnationRows));
  describe("it was sent again and that was done:", () => delivered(attemptRows));
});

describe("a request that was under way meanwhile, held at any call of the table, writes nothing after it:", () => {
  describe("its epoch was resumed:", () =>
    heldOn(epochRows("resumed").filter(({ how }) => !how.includes("another's"))));
  for (const ending of ["over, and given to somebody else", "over, and settled by somebody else"] as const) {
    describe(`its lease was ${ending}:`, () => heldOn(leaseRows(ending)));
  }
  describe("its branch has ended, and another one of the xid begun:", () => heldOn(incarnationRows));
  describe("its queue was deleted, and another one of the name declared:", () => heldOn(queueRows));
  describe("it was sent again and that was done:", () => heldOn(attemptRows));
});

describe("of each route is known", () => {
  const rows = [...epochRows("resumed"), ...leaseRows("over, and given to somebody else"), ...incarnationRows];
  const all = [...rows, ...queueRows, ...attemptRows];
  const listed = routes.map(({ method, path }) => `${method} ${path}`);

  test.for(kinds)("whether it carries one: %s", (kind: Kind) => {
    const withRows = new Set(all.filter(({ carries }) => carries === kind).map(({ route }) => route));
    const withReasons = Object.values(none[kind]).flat();
    expect([...withRows, ...withReasons].toSorted()).toEqual(listed.toSorted());
  });
});
