import type { Figure, Row } from "./capacity-rows.ts";
import { type Client, client, type QueueSettings, type Units } from "./client.ts";
import { bodies, newXid, queueName } from "./material.ts";
import { costOf, exactly, passingRow } from "./message-rows.ts";

/** Rounds of which the dearest counts. */
const ROUNDS = 5;

/** A branch that publishes `count` messages to one queue and accepts as many of another, in one call each. */
const swapping = (
  name: string,
  sizes: { readonly count: number; readonly bytes: number },
  settings: QueueSettings,
  ceiling: Units,
): Row => ({
  name,
  measure: async ({ baseUrl }) => {
    const c = client(baseUrl);
    const [from, to] = [queueName(), queueName()];
    await c.declare(from, settings);
    await c.declare(to, settings);
    const s = await c.attached();
    const round = async (): Promise<{ readonly branch: Units; readonly acquire: Units }> => {
      await s.enqueue(from, bodies(sizes.count, sizes.bytes));
      const xid = newXid();
      const inBranch = s.within(xid);
      const begin = await costOf(s, async () => {
        await s.verb(xid, "start");
        await inBranch.enqueue(to, bodies(sizes.count, sizes.bytes));
      });
      const before = s.spent();
      const deliveries = await exactly(inBranch, from, sizes.count);
      const acquire = difference(s.spent(), before);
      const finish = await costOf(s, async () => {
        await inBranch.accept(deliveries);
        for (const verb of ["end", "prepare", "commit"] as const) await s.verb(xid, verb);
      });
      return { branch: { wru: begin.wru + finish.wru, rru: begin.rru + finish.rru }, acquire };
    };
    await round();
    const costs: Awaited<ReturnType<typeof round>>[] = [];
    for (let i = 0; i < ROUNDS; i++) costs.push(await round());
    const dearest = (part: "branch" | "acquire", unit: keyof Units) =>
      Math.max(...costs.map((cost) => cost[part][unit]));
    return [
      { of: "WRU", measured: dearest("branch", "wru"), ceiling: ceiling.wru },
      { of: "RRU", measured: dearest("branch", "rru"), ceiling: ceiling.rru },
      { of: "WRU of the acquire before it", measured: dearest("acquire", "wru") },
      { of: "RRU of the acquire before it", measured: dearest("acquire", "rru") },
    ];
  },
});

const difference = (after: Units, before: Units): Units => ({
  wru: after.wru - before.wru,
  rru: after.rru - before.rru,
});

const MESSAGES_A_CALL = 100;
const LARGE = [1_000, 10_000] as const;
const MOST_TIMES = 1.2;

/** What a branch costs that publishes that many messages of 100 bytes, for each of them. */
const costOfMessage = async (c: Client, messages: number): Promise<Units> => {
  const queue = queueName();
  await c.declare(queue);
  const s = await c.attached();
  const xid = newXid();
  const { wru, rru } = await costOf(s, async () => {
    await s.verb(xid, "start");
    for (let n = 0; n < messages; n += MESSAGES_A_CALL) {
      await s.within(xid).enqueue(queue, bodies(MESSAGES_A_CALL, 100));
    }
    for (const verb of ["end", "prepare", "commit"] as const) await s.verb(xid, verb);
  });
  return { wru: wru / messages, rru: rru / messages };
};

const largeBranches: Row = {
  name: "a branch of n messages of 100 B, 100 a call, n = 1,000 and 10,000",
  measure: async ({ baseUrl }) => {
    const c = client(baseUrl);
    const small = await costOfMessage(c, MESSAGES_A_CALL);
    const large: Units[] = [];
    for (const messages of LARGE) large.push(await costOfMessage(c, messages));
    return (["wru", "rru"] as const).flatMap((unit): readonly Figure[] => {
      const name = unit.toUpperCase();
      return [
        { of: `${name} a message, n = 100`, measured: small[unit] },
        ...LARGE.map((messages, i): Figure => {
          const of = `${name} a message, n = ${messages.toLocaleString("en")}`;
          return { of, measured: large[i]?.[unit] ?? Number.NaN, ceiling: MOST_TIMES * small[unit] };
        }),
      ];
    });
  },
};

export const branchRows: readonly Row[] = [
  swapping(
    "dtx: start, enqueue 1, accept 1, end, prepare, commit (small)",
    { count: 1, bytes: 300 },
    {},
    { wru: 22, rru: 8 },
  ),
  swapping(
    "dtx: the same with 10 + 10 × 1 KB, one call each, with retentionSeconds",
    { count: 10, bytes: 1024 },
    { retentionSeconds: 86_400 },
    { wru: 32, rru: 12 },
  ),
  passingRow,
  largeBranches,
];
