import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  addCounters,
  COUNTER_MAX,
  compareSerials,
  counterDistance,
  latestOf,
  parseCounter,
} from "../../shared/domain/counter.ts";

const counters = fc.bigInt({ min: 0n, max: COUNTER_MAX });
const half = 1n << 63n;

describe("64-bit counters", () => {
  it("wrap from 2^64-1 to 0", () => {
    expect(addCounters(COUNTER_MAX, 1n)).toBe(0n);
    expect(addCounters(COUNTER_MAX, 12n)).toBe(11n);
    expect(counterDistance(COUNTER_MAX, 4n)).toBe(5n);
    expect(counterDistance(4n, COUNTER_MAX)).toBe(COUNTER_MAX - 4n);
  });

  it("go by their distance to where they came from", () => {
    fc.assert(
      fc.property(counters, counters, (from, by) => {
        expect(counterDistance(from, addCounters(from, by))).toBe(by);
      }),
    );
  });

  it.each<[string, bigint | undefined]>([
    ["0", 0n],
    ["18446744073709551615", COUNTER_MAX],
    ["18446744073709551616", undefined],
    ["99999999999999999999", undefined],
    ["100000000000000000000", undefined],
    ["007", undefined],
    ["-1", undefined],
    ["+1", undefined],
    ["1.0", undefined],
    ["0x10", undefined],
    [" 1", undefined],
    ["", undefined],
  ])("are read from %j as %s", (text, value) => {
    expect(parseCounter(text)).toBe(value);
  });

  it("read back as they are written", () => {
    fc.assert(fc.property(counters, (value) => parseCounter(String(value)) === value));
  });
});

describe("serial numbers", () => {
  it.each<[bigint, bigint, number]>([
    [5n, 5n, 0],
    [6n, 5n, 1],
    [5n, 6n, -1],
    [0n, COUNTER_MAX, 1],
    [3n, COUNTER_MAX - 3n, 1],
    [half - 1n, 0n, 1],
    [half + 1n, 0n, -1],
    // The undefined distance: the larger number comes after.
    [half, 0n, 1],
    [0n, half, -1],
    [half + 7n, 7n, 1],
  ])("%s compared with %s is %s", (a, b, order) => {
    expect(compareSerials(a, b)).toBe(order);
  });

  it("come after what they were counted up from, by less than half of all numbers", () => {
    fc.assert(
      fc.property(counters, fc.bigInt({ min: 1n, max: half - 1n }), (from, by) => {
        expect(compareSerials(addCounters(from, by), from)).toBe(1);
      }),
    );
  });

  it("are ordered the same from both sides", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.tuple(counters, counters),
          counters.map((a) => [a, addCounters(a, half)] as const),
        ),
        ([a, b]) => {
          expect(compareSerials(a, b) + compareSerials(b, a)).toBe(0);
        },
      ),
    );
  });

  it("have a latest one within half of all numbers, over the wrap too, and none around the circle", () => {
    expect(latestOf([COUNTER_MAX, 1n, COUNTER_MAX - 4n])).toBe(1n);
    expect(latestOf([7n, 7n])).toBe(7n);
    expect(latestOf([])).toBeUndefined();
    expect(latestOf([0n, 7n << 61n, 5n << 60n, 5n << 61n])).toBeUndefined();
  });
});
