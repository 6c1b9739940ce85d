import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { capacityRows, isMet } from "../../bench/capacity-rows.ts";
import { type CapacityService, startCapacityService } from "../../bench/capacity-service.ts";

let service: CapacityService | undefined;

beforeAll(async () => {
  service = await startCapacityService();
});

afterAll(async () => {
  await service?.stop();
});

describe("what it may cost", () => {
  test.each(capacityRows)("$name", { timeout: 120_000 }, async (row) => {
    if (service === undefined) throw new Error("the service was not started");
    const figures = await row.measure(service);
    expect(figures.some(({ ceiling }) => ceiling !== undefined)).toBe(true);
    expect(figures.filter((figure) => !isMet(figure))).toEqual([]);
  });
});
