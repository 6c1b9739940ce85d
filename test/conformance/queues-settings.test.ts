import { describe, expect, it } from "vitest";
import { expectOk, expectRefused, newQueue, newQueues, take } from "../support/moves.ts";
import { unique } from "../support/names.ts";
import { useService } from "../support/service.ts";
import { contractDefaults } from "../support/settings.ts";
import type { QueueSettings } from "../support/shapes.ts";

const service = useService();
const c = service.client;

const defaults: Required<QueueSettings> = contractDefaults;

/** Each setting with another value than its default. */
const others: Required<QueueSettings> = {
  messageDurability: "always",
  strictOrder: true,
  leaseSeconds: 31,
  maxDeliveries: 5,
  deadLetterQueue: "dead-letters",
  messageTtlSeconds: 86_400,
  retentionSeconds: 604_800,
  maxMessages: 1000,
  maxBytes: 1_000_000,
  overflow: "ring",
  partitions: 3,
};

const noStats = {
  available: "0",
  leased: "0",
  held: "0",
  enqueued: "0",
  settled: "0",
  deadLettered: "0",
  changeCounter: "0",
  oldestAgeSeconds: null,
};

describe("declare", () => {
  it("without a body makes a queue with the defaults, and says so", async () => {
    const queue = unique();
    expect(expectOk(await c.declare(queue), 201)).toEqual({ queue, ...defaults });
    expect(expectOk(await c.getQueue(queue))).toEqual({ queue, ...defaults, stats: noStats });
  });

  it("keeps every setting, over a restart too", async () => {
    const queue = unique();
    expectOk(await c.declare(queue, others), 201);
    expect(expectOk(await c.getQueue(queue))).toEqual({ queue, ...others, stats: noStats });
    await service.restart();
    expect(expectOk(await c.getQueue(queue))).toEqual({ queue, ...others, stats: noStats });
    expectOk(await c.declare(queue, others), 200);
  });

  it("again with the same settings is 200, said or left out, and leaves what stands there", async () => {
    const queue = await newQueue(c, ["a"]);
    expect(expectOk(await c.declare(queue), 200)).toEqual({ queue, ...defaults });
    expectOk(await c.declare(queue, {}), 200);
    expectOk(await c.declare(queue, defaults), 200);
    expect(await take(c, queue)).toMatchObject([{ body: "a" }]);
  });

  it.each(Object.entries(others))("again with another %s is 412, and changes nothing", async (name, value) => {
    const queue = await newQueue(c, ["a"]);
    expectRefused(await c.declare(queue, { [name]: value }), "precondition-failed");
    const view = expectOk(await c.getQueue(queue));
    expect(view).toMatchObject({ ...defaults, stats: { available: "1" } });
    const other = unique();
    expectOk(await c.declare(other, { [name]: value }), 201);
    expectRefused(await c.declare(other), "precondition-failed");
  });

  it.each(Object.entries({ messageDurability: "never", overflow: "reject", partitions: 64, maxDeliveries: 1000 }))(
    "takes %s %s",
    async (name, value) => {
      expect(expectOk(await c.declare(unique(), { [name]: value }), 201)).toMatchObject({ [name]: value });
    },
  );

  it.each([".a", "...", "a", "A.b_c-9", "-", "_", "x".repeat(127), "constructor", "__proto__"])(
    "takes the name %s",
    async (name) => {
      expectOk(await c.declare(name), 201);
      expectOk(await c.enqueue(name, [{ body: "in it" }]), 201);
      expect(await take(c, name)).toMatchObject([{ body: "in it" }]);
      expect(expectOk(await c.getQueue(name)).queue).toBe(name);
      expectOk(await c.deleteQueue(name), 204);
    },
  );

  it("names differ by case", async () => {
    const queue = unique("Case");
    expectOk(await c.declare(queue), 201);
    expectRefused(await c.getQueue(queue.toLowerCase()), "not-found");
  });

  it("by many at once makes one queue", async () => {
    const queue = unique();
    const answers = await Promise.all(Array.from({ length: 12 }, () => c.declare(queue, { leaseSeconds: 77 })));
    expect(answers.map((answer) => answer.status).sort()).toEqual([...Array<number>(11).fill(200), 201]);
  });

  it("by many at once with other settings each: one wins, the others are told", async () => {
    const queue = unique();
    const answers = await Promise.all(Array.from({ length: 8 }, (_, i) => c.declare(queue, { leaseSeconds: 10 + i })));
    expect(answers.map((answer) => answer.status).sort()).toEqual([201, ...Array<number>(7).fill(412)]);
    const winner = answers.findIndex((answer) => answer.status === 201);
    expect(expectOk(await c.getQueue(queue)).leaseSeconds).toBe(10 + winner);
  });
});

describe("a queue that is not there", () => {
  it("is 404 in every call", async () => {
    const queue = unique("missing");
    const answers = [
      await c.getQueue(queue),
      await c.deleteQueue(queue),
      await c.deleteQueue(queue, { ifEmpty: true, ifUnused: true }),
      await c.purge(queue),
      await c.browse(queue),
      await c.enqueue(queue, [{ body: "x" }]),
      await c.acquire(queue),
    ];
    for (const answer of answers) expectRefused(answer, "not-found");
    expectRefused(await c.getQueue(queue), "not-found");
  });
});

describe("the list of queues", () => {
  /** Every name that a prefix leads to, page by page. */
  async function listed(prefix: string, limit?: number): Promise<{ names: string[]; pages: number[] }> {
    const names: string[] = [];
    const pages: number[] = [];
    let cursor: string | undefined;
    do {
      const page = expectOk(await c.listQueues({ prefix, cursor, ...(limit === undefined ? {} : { limit }) }));
      names.push(...page.queues.map((each) => each.queue));
      pages.push(page.queues.length);
      cursor = page.cursor;
      expect(pages.length).toBeLessThan(100);
    } while (cursor !== undefined);
    return { names, pages };
  }

  it("is complete and without repeats, whatever the page", async () => {
    const prefix = unique("list");
    const names = Array.from({ length: 23 }, (_, i) => `${prefix}.${i}`);
    await Promise.all(names.map((name, i) => c.declare(name, { partitions: 1 + (i % 3) })));
    for (const limit of [2, 7, 23, 24, undefined]) {
      const { names: all, pages } = await listed(`${prefix}.`, limit);
      expect(all.toSorted()).toEqual(names.toSorted());
      if (limit !== undefined) expect(Math.max(...pages)).toBeLessThanOrEqual(limit);
    }
    expect((await listed(`${prefix}.1`, 3)).names.toSorted()).toEqual(
      names.filter((name) => name.startsWith(`${prefix}.1`)).toSorted(),
    );
  });

  it("shows each queue with its settings", async () => {
    const queue = unique("shown");
    expectOk(await c.declare(queue, others), 201);
    expect(expectOk(await c.listQueues({ prefix: queue })).queues).toEqual([{ queue, ...others }]);
  });

  it("takes a whole name as prefix, and one that nothing has", async () => {
    const queue = unique("whole");
    await c.declare(queue);
    await c.declare(`${queue}-longer`);
    expect((await listed(queue)).names.toSorted()).toEqual([queue, `${queue}-longer`].toSorted());
    expect(await listed(`${queue}-none`)).toEqual({ names: [], pages: [0] });
  });

  it("without a prefix has every queue", async () => {
    const queues = await newQueues(c, 3);
    expect((await listed("", 100)).names).toEqual(expect.arrayContaining(queues));
  });

  it("leaves out deleted queues and shows one declared again once, over a restart too", async () => {
    const prefix = unique("gone");
    const names = ["a", "b", "c"].map((name) => `${prefix}.${name}`);
    for (const name of names) await c.declare(name);
    await c.deleteQueue(`${prefix}.a`);
    await c.deleteQueue(`${prefix}.b`);
    await c.declare(`${prefix}.b`, { leaseSeconds: 99 });
    expect((await listed(prefix)).names).toEqual([`${prefix}.b`, `${prefix}.c`]);
    await service.restart();
    expect((await listed(prefix, 1)).names).toEqual([`${prefix}.b`, `${prefix}.c`]);
  });

  it("a queue declared while the pages are read is no reason to lose or repeat another", async () => {
    const prefix = unique("grows");
    for (const i of [2, 4, 6, 8]) await c.declare(`${prefix}.${i}`);
    const first = expectOk(await c.listQueues({ prefix, limit: 2 }));
    await c.declare(`${prefix}.1`);
    await c.declare(`${prefix}.7`);
    const rest = expectOk(await c.listQueues({ prefix, cursor: first.cursor }));
    const names = [...first.queues, ...rest.queues].map((each) => each.queue);
    expect(new Set(names).size).toBe(names.length);
    expect(names).toEqual(expect.arrayContaining([2, 4, 6, 8].map((i) => `${prefix}.${i}`)));
  });
});
