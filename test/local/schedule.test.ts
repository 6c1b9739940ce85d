import { afterEach, expect, test } from "vitest";
import type { Context, Handler } from "../../local/handlers.ts";
import { type Schedule, startSchedule } from "../../local/schedule.ts";

let schedule: Schedule | undefined;

afterEach(async () => {
  await schedule?.stop();
  schedule = undefined;
});

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

async function running(handler: Handler, everySeconds: number, log: (line: string) => void = () => {}): Promise<void> {
  schedule = await startSchedule({
    schedules: [{ lambda: "schedule/sweep", rateMinutes: 60 }],
    everySeconds,
    loadHandler: async () => handler,
    log,
  });
}

test("runs each function again and again with an event like EventBridge's", async () => {
  const seen: [unknown, Context][] = [];
  await running((event, context) => seen.push([event, context]), 0.02);
  await expect.poll(() => seen.length).toBeGreaterThan(2);
  const [event, context] = seen[0] ?? [];
  expect(event).toMatchObject({
    version: "0",
    "detail-type": "Scheduled Event",
    source: "aws.events",
    account: "000000000000",
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
    detail: {},
  });
  expect(context?.functionName).toBe("cairn-schedule-sweep");
  expect(context?.getRemainingTimeInMillis()).toBeGreaterThan(60_000);
});

test("never runs one twice at once", async () => {
  let atOnce = 0;
  let runs = 0;
  const counts: number[] = [];
  await running(async () => {
    counts.push(++atOnce);
    await pause(35);
    atOnce -= 1;
    runs += 1;
  }, 0.01);
  await expect.poll(() => runs).toBeGreaterThan(2);
  expect(new Set(counts)).toEqual(new Set([1]));
});

test("tells a failure in one line and goes on", async () => {
  const lines: string[] = [];
  await running(
    () => {
      throw new Error("first\nsecond");
    },
    0.02,
    (line) => lines.push(line),
  );
  await expect.poll(() => lines.length).toBeGreaterThan(1);
  expect(lines[0]).toMatch(/^schedule\/sweep failed, run [0-9a-f-]{36}: first second$/);
});

test("waits at its stop for what runs, and starts nothing more", async () => {
  let runs = 0;
  let finished = 0;
  await running(async () => {
    runs += 1;
    await pause(60);
    finished += 1;
  }, 0.01);
  await expect.poll(() => runs).toBe(1);
  await schedule?.stop();
  expect(finished).toBe(1);
  await pause(50);
  expect(runs).toBe(1);
});

test("with a rhythm of 0 runs nothing", async () => {
  let runs = 0;
  await running(() => {
    runs += 1;
  }, 0);
  await pause(50);
  expect(runs).toBe(0);
});
