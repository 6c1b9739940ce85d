import { describe, expect, test } from "vitest";
import { useInProcessService } from "../support/in-process.ts";
import { attemptRows, queueRows } from "./attempts.ts";
import { epochRows } from "./epochs.ts";
import { incarnationRows } from "./incarnations.ts";
import { type Row, toldBy } from "./late.ts";
import { leaseRows } from "./leases.ts";
import { named, newStage } from "./stage.ts";
import { changesButCounters, snapshotOf } from "./table.ts";
import { callsOf, underWay } from "./under-way.ts";

const service = useInProcessService();

/** What a branch of another session refuses anyway, says less than one that stands as the first one did. */
const strictest = incarnationRows.filter(({ how }) => !how.endsWith("is another session's"));

const heldOn = (rows: readonly Row[]): void => {
  test.for(named(rows))("%s", async ([, row]) => {
    const process = await service.process("late");
    let stage = await newStage(service);
    const calls = await callsOf(process, (await row.make(stage)).send);
    let checked = 0;
    for (const index of calls) {
      // What goes through the whole table, is alone in it.
      if (row.route === "POST /recovery") stage = await newStage(service);
      const { send, next, knowsBy } = await row.make(stage);
      const held = await underWay(process, index, send);
      if (held === undefined) throw new Error(`it made no call ${index} this time`);
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

describe("a request that was under way meanwhile, held at any call of the table, writes nothing after it:", () => {
  describe("its epoch was resumed:", () =>
    heldOn(epochRows("resumed").filter(({ how }) => !how.includes("another's"))));
  for (const ending of ["over, and given to somebody else", "over, and settled by somebody else"] as const) {
    describe(`its lease was ${ending}:`, () => heldOn(leaseRows(ending)));
  }
  describe("its branch has ended, and another one of the xid begun:", () => heldOn(strictest));
  describe("its queue was deleted, and another one of the name declared:", () => heldOn(queueRows));
  describe("it was sent again and that was done:", () => heldOn(attemptRows));
});
