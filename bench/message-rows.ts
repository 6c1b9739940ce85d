import type { Figure, Row } from "./capacity-rows.ts";
import { type Client, client, type QueueSettings, type Units } from "./client.ts";
import { bodies, queueName } from "./material.ts";

/** Rounds of which the dearest counts. */
const ROUNDS = 5;
const DAY_SECONDS = 86_400;

const withRetention: QueueSettings = { retentionSeconds: DAY_SECONDS };

/** One message after the other, or many a call, through one queue outside a branch. */
const passing = (
  name: string,
  sizes: { readonly count: number; readonly bytes: number },
  settings: QueueSettings,
  ceiling: Units,
): Row => ({
  name,
  measure: async ({ baseUrl }) => {
    const c = client(baseUrl);
    const queue = queueName();
    await c.declare(queue, settings);
    const round = async () => {
      await c.enqueue(queue, bodies(sizes.count, sizes.bytes));
      await c.accept(await exactly(c, queue, sizes.count));
    };
    await round();
    const costs: Units[] = [];
    for (let i = 0; i < ROUNDS; i++) costs.push(await costOf(c, round));
    const dearest = (unit: keyof Units) => Math.max(...costs.map((cost) => cost[unit])) / sizes.count;
    return [
      { of: "WRU a message", measured: dearest("wru"), ceiling: ceiling.wru },
      { of: "RRU a message", measured: dearest("rru"), ceiling: ceiling.rru },
    ];
  },
});

/** Leased runs that an acquire has to pass. */
const BEHIND = [10, 40] as const;

/** How much more an acquire of 10 reads for each leased run that stands before what it takes. */
const costOfPassing = async (c: Client, bytes: number): Promise<readonly number[]> => {
  const costs: number[] = [];
  for (const leasedRuns of [0, ...BEHIND]) {
    const queue = queueName();
    await c.declare(queue);
    for (let run = 0; run < leasedRuns; run++) await c.enqueue(queue, bodies(10, bytes));
    if (leasedRuns > 0) await exactly(c, queue, leasedRuns * 10);
    await c.enqueue(queue, bodies(10, bytes));
    costs.push((await costOf(c, () => exactly(c, queue, 10))).rru);
  }
  const [alone = 0, ...behind] = costs;
  return behind.map((cost, i) => (cost - alone) / (BEHIND[i] ?? 1));
};

const behindLeasedRuns: Row = {
  name: "acquire of 10 behind leased runs",
  measure: async ({ baseUrl }) => {
    const c = client(baseUrl);
    const outOfLine = await costOfPassing(c, 1024);
    const inline = await costOfPassing(c, 40);
    return [
      ...BEHIND.map((runs, i): Figure => {
        const of = `RRU more for each of ${runs} runs of 10 × 1 KB`;
        return { of, measured: outOfLine[i] ?? Number.NaN, ceiling: 0.1 };
      }),
      ...BEHIND.map((runs, i): Figure => {
        const of = `RRU more for each of ${runs} runs of 10 × 40 B (inline)`;
        return { of, measured: inline[i] ?? Number.NaN };
      }),
    ];
  },
};

export const messageRows: readonly Row[] = [
  passing("enqueue + acquire + accept, one small message a call", { count: 1, bytes: 300 }, {}, { wru: 6, rru: 2.5 }),
  passing("the same, 10 × 1 KB a call, with retentionSeconds", { count: 10, bytes: 1024 }, withRetention, {
    wru: 1.7,
    rru: 0.5,
  }),
  passing("the same, 100 × 1 KB a call, with retentionSeconds", { count: 100, bytes: 1024 }, withRetention, {
    wru: 1.15,
    rru: 0.3,
  }),
];

export const passingRow = behindLeasedRuns;

/** Acquires that many or throws: a measurement of fewer would look too good. */
export const exactly = async (c: Client, queue: string, count: number) => {
  const all = [];
  while (all.length < count) {
    const some = await c.acquire(queue, Math.min(500, count - all.length));
    if (some.length === 0) throw new Error(`${queue} gave ${all.length} of ${count} messages`);
    all.push(...some);
  }
  return all;
};

/** What the client's calls cost while `work` runs. */
export const costOf = async (c: Client, work: () => Promise<unknown>): Promise<Units> => {
  const before = c.spent();
  await work();
  const after = c.spent();
  return { wru: after.wru - before.wru, rru: after.rru - before.rru };
};
