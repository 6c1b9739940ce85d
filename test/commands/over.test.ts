import { describe, expect, it } from "vitest";
import { overOf, overOfAll } from "../../shared/commands/over.ts";
import { allButHeld } from "../../shared/commands/queues/sweep.ts";
import type { Standing } from "../../shared/domain/run.ts";

const all: readonly Standing[] = [
  "available",
  "delayed",
  "leased",
  "held",
  "settled",
  "expired",
  "dropped",
  "exhausted",
];

describe("what is over", () => {
  it("by time or deliveries is settled, and dead unless its retention ended it", () => {
    expect(overOfAll(all)).toEqual({
      settled: [5, 6, 7],
      dead: [
        { index: 5, reason: "expired" },
        { index: 7, reason: "max-deliveries" },
      ],
    });
  });

  it("is told by index, with a note along", () => {
    expect(overOf([4, 9], ["available", "expired"], "why")).toEqual({
      settled: [9],
      dead: [{ index: 9, reason: "expired", note: "why" }],
    });
  });

  it("of a deleted queue is all that no branch holds, each for its own reason", () => {
    const { settled, dead } = allButHeld(all);
    expect(settled.toSorted()).toEqual([0, 1, 2, 5, 6, 7]);
    expect(new Map(dead.map(({ index, reason }) => [index, reason]))).toEqual(
      new Map([
        [0, "queue-deleted"],
        [1, "queue-deleted"],
        [2, "queue-deleted"],
        [5, "expired"],
        [7, "max-deliveries"],
      ]),
    );
  });
});
