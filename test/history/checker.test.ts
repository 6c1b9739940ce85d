import { describe, expect, it } from "vitest";
import type { AnomalyName } from "./anomaly.ts";
import { badCommands } from "./bad-commands.ts";
import { badEnds } from "./bad-ends.ts";
import { bad } from "./bad-histories.ts";
import { check } from "./checker.ts";
import { good } from "./good-histories.ts";
import { fromLines, toLines } from "./history.ts";

describe("a history in which all is well", () => {
  it.each(good)("%s shows nothing", (_, entries) => {
    expect(check(entries)).toEqual([]);
  });

  it("is the same after it was written and read", () => {
    const [[, entries] = ["", []]] = good;
    expect(fromLines(toLines(entries))).toEqual(entries);
  });
});

describe("a bad history", () => {
  const all = [...bad, ...badEnds, ...badCommands];

  it.each(all)("%s: %s", (name, _, entries, slice) => {
    const anomalies = check(entries);
    expect(anomalies.map((anomaly) => anomaly.name)).toContain(name);
    expect(anomalies.find((anomaly) => anomaly.name === name)?.slice.map(({ n }) => n)).toEqual(slice);
  });

  it("shows every anomaly that there is a name for", () => {
    const names: Readonly<Record<AnomalyName, true>> = {
      lost: true,
      invented: true,
      doubled: true,
      reordered: true,
      "torn branch": true,
      "torn publish": true,
      "reject that came back": true,
      "dead without a cause": true,
      "newer dropped before older": true,
      "limit that was passed": true,
      "refused without a cause": true,
      "two outcomes": true,
      "prepared, then decided by nobody": true,
      "accept that came back": true,
      "depth that a drain contradicts": true,
      "counter that went back": true,
      "counter that runs behind": true,
      "old epoch that was let through": true,
      "command that never completed": true,
      "command that completed twice": true,
      "completion that was passed over": true,
      "command id that was given twice": true,
    };
    expect([...new Set(all.map(([name]) => name))].toSorted()).toEqual(Object.keys(names).toSorted());
  });
});
