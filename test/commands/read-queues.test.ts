import { describe, expect, it } from "vitest";
import { browse } from "../../shared/commands/queues/browse.ts";
import { deleteQueue } from "../../shared/commands/queues/delete.ts";
import { getQueue } from "../../shared/commands/queues/get.ts";
import { listQueues } from "../../shared/commands/queues/list.ts";
import { attachSession } from "../../shared/commands/sessions/attach.ts";
import { detachSession } from "../../shared/commands/sessions/detach.ts";
import { ANSWER_BYTES } from "../../shared/domain/limits.ts";
import { type Queue, wireSequence } from "../../shared/domain/queue.ts";
import { isRefusal } from "../../shared/domain/refusal.ts";
import { release } from "../../shared/domain/run.ts";
import { counts, declared, freshName, messageOf, put, replace, reread, take } from "../support/messages.ts";
import { type TestCall, useTable } from "../support/table.ts";

const table = useTable();

const statsOf = async (queue: Queue) => {
  const got = await getQueue(table.call(), queue.name);
  if (isRefusal(got)) throw new Error(got.detail);
  return got.stats;
};

const page = async (queue: Queue, limit: number, after?: string) => {
  const got = await browse(table.call(), queue.name, { limit, after });
  if (isRefusal(got)) throw new Error(got.detail);
  return { ...got, bodies: got.messages.map(({ message }) => Buffer.from(message.body).toString()) };
};

/** Everything that browsing gives, in pages of this size. */
const browsed = async (queue: Queue, limit: number) => {
  const all: { readonly sequence: string; readonly body: string }[] = [];
  let after: string | undefined;
  do {
    const { messages, bodies, next } = await page(queue, limit, after);
    expect(messages.length).toBeLessThanOrEqual(limit);
    all.push(...messages.map(({ sequence }, i) => ({ sequence, body: bodies[i] ?? "" })));
    after = next;
  } while (after !== undefined);
  return all;
};

const releaseLater = async (call: TestCall, queue: Queue, run: Parameters<typeof reread>[1], ms: number) => {
  const before = await reread(call, run);
  if (before !== undefined) await replace(call, queue, before, release(before, [0], call.now() + ms));
};

describe("the stats of a queue", () => {
  it("count what is available, leased and released for later, over all partitions", async () => {
    const call = table.call();
    const queue = await declared(call, { partitions: 3 });
    await put(call, queue, ["a", "b"], 0);
    await take(call, await put(call, queue, ["c", "d", "e"], 1), { indexes: [0, 2] });
    const delayed = await put(call, queue, ["f"], 2);
    await take(call, delayed);
    await releaseLater(call, queue, delayed, 60_000);
    expect(await counts(call, queue)).toEqual({
      available: 3,
      leased: 3,
      held: 0,
      enqueued: 6,
      settled: 0,
      deadLettered: 0,
    });
    table.wait(60_000);
    expect(await statsOf(queue)).toMatchObject({ available: "6", leased: "0", changeCounter: "6" });
  });

  it("end a lease with its session", async () => {
    const call = table.call();
    const queue = await declared(call);
    const name = freshName("session");
    const attached = await attachSession(call, name, 300);
    if (isRefusal(attached)) throw new Error(attached.detail);
    await take(call, await put(call, queue, ["a"]), { leaseSeconds: 3600, session: attached.session });
    expect(await counts(call, queue)).toMatchObject({ available: 0, leased: 1 });
    await detachSession(call, name, undefined);
    expect(await counts(call, queue)).toMatchObject({ available: 1, leased: 0 });
  });

  it("leave out what time has ended, and tell the age of the oldest available one", async () => {
    const call = table.call();
    const queue = await declared(call, { maxDeliveries: 1 });
    expect(await statsOf(queue)).toMatchObject({ available: "0", oldestAgeSeconds: null });
    await put(call, queue, [messageOf("soon over", { ttlSeconds: 5 })]);
    table.wait(2_000);
    await put(table.call(), queue, ["stays"]);
    await take(table.call(), await put(table.call(), queue, ["delivered once"]), { leaseSeconds: 1 });
    expect(await statsOf(queue)).toMatchObject({ available: "2", leased: "1", oldestAgeSeconds: 2 });
    table.wait(4_000);
    expect(await statsOf(queue)).toMatchObject({ available: "1", leased: "0", enqueued: "3", oldestAgeSeconds: 4 });
  });

  it("of an unknown or deleted queue are not found", async () => {
    const call = table.call();
    const queue = await declared(call);
    await deleteQueue(call, queue.name, { ifEmpty: false, ifUnused: false });
    expect(await getQueue(call, queue.name)).toMatchObject({ refusal: "not-found" });
    expect(await browse(call, queue.name, { limit: 1 })).toMatchObject({ refusal: "not-found" });
    expect(await getQueue(call, "never")).toMatchObject({ refusal: "not-found" });
  });
});

describe("browsing", () => {
  it.each([1, 2, 3, 7, 500])(
    "in pages of %i gives everything available once, in the order of sequences",
    async (limit) => {
      const call = table.call();
      const queue = await declared(call, { partitions: 3 });
      await put(call, queue, ["a0", "a1", "a2", "a3"], 0);
      await put(call, queue, ["b0"], 1);
      await put(call, queue, ["c0", "c1"], 2);
      await take(call, await put(call, queue, ["b1", "b2", "b3"], 1), { indexes: [1] });
      await put(call, queue, ["a4"], 0);
      const found = await browsed(queue, limit);
      expect(found.map(({ body }) => body)).toEqual(["a0", "b0", "c0", "a1", "b1", "c1", "a2", "a3", "b3", "a4"]);
      expect(found.map(({ sequence }) => sequence)).toEqual(["0", "1", "2", "3", "4", "5", "6", "9", "10", "12"]);
      expect(await counts(call, queue)).toMatchObject({ available: 10, leased: 1 });
    },
  );

  it("begins in the middle of a large run, and says so when there is no more", async () => {
    const call = table.call();
    const queue = await declared(call);
    for (let run = 0; run < 3; run++) {
      await put(
        call,
        queue,
        Array.from({ length: 100 }, (_, i) => `${run * 100 + i}`),
      );
    }
    expect((await page(queue, 3, "198")).bodies).toEqual(["199", "200", "201"]);
    expect(await page(queue, 500, "296")).toMatchObject({ bodies: ["297", "298", "299"] });
    expect((await page(queue, 3, "296")).next).toBeUndefined();
    expect((await page(queue, 2, "296")).next).toBe("298");
    expect((await page(queue, 5, "99999999999999999999")).bodies).toEqual([]);
  });

  it("stops before an answer grows too large, and goes on", async () => {
    const call = table.call();
    const queue = await declared(call);
    const large = "x".repeat(900_000);
    for (let i = 0; i < 6; i++) await put(call, queue, [`${i}${large}`]);
    const first = await page(queue, 500);
    expect(JSON.stringify(first.bodies).length).toBeLessThan(ANSWER_BYTES);
    expect(first.next).toBe("3");
    expect((await page(queue, 500, first.next)).bodies.map((body) => body[0])).toEqual(["4", "5"]);
  });

  it("gives back message ids, given or not", async () => {
    const call = table.call();
    const queue = await declared(call);
    const run = await put(call, queue, [messageOf("a", { messageId: "m-1" }), messageOf("b")]);
    const { messages } = await page(queue, 10);
    expect(messages.map(({ messageId }) => messageId)).toEqual(["m-1", `${run.messageIdBase}-1`]);
    expect(messages.map(({ sequence }) => sequence)).toEqual([wireSequence(0, 0, 1), wireSequence(1, 0, 1)]);
  });
});

describe("listing queues", () => {
  const listed = async (prefix: string, limit: number) => {
    const names: string[] = [];
    let after: string | undefined;
    do {
      const { queues, next } = await listQueues(table.call(), { prefix, limit, after });
      expect(queues.length).toBeLessThanOrEqual(limit);
      names.push(...queues.map(({ name }) => name));
      after = next;
    } while (after !== undefined);
    return names;
  };

  it.each([1, 2, 5, 500])("in pages of %i gives each once, by name, whatever its partitions", async (limit) => {
    const call = table.call();
    const prefix = freshName("list.");
    const names = ["", "-x", ".y", "0", "A", "Z", "_", "a", "a-b", "a.b", "aa", "b", "~no".slice(1)].map(
      (end) => `${prefix}${end}`,
    );
    for (const [i, name] of names.entries()) await declared(call, { partitions: 1 + (i % 4) * 10 }, name);
    expect(await listed(prefix, limit)).toEqual([...names].sort());
    expect(await listed(`${prefix}a`, limit)).toEqual(names.filter((name) => name.startsWith(`${prefix}a`)).sort());
  });

  it("leaves deleted queues out, and gives a name declared again its new settings", async () => {
    const call = table.call();
    const prefix = freshName("again.");
    for (const end of ["a", "b", "c"]) await declared(call, {}, `${prefix}${end}`);
    await deleteQueue(call, `${prefix}a`, { ifEmpty: false, ifUnused: false });
    await deleteQueue(call, `${prefix}b`, { ifEmpty: false, ifUnused: false });
    await declared(call, { leaseSeconds: 7 }, `${prefix}b`);
    const { queues, next } = await listQueues(table.call(), { prefix, limit: 2 });
    expect(queues.map(({ name, settings }) => [name, settings.leaseSeconds])).toEqual([
      [`${prefix}b`, 7],
      [`${prefix}c`, 30],
    ]);
    expect(next).toBeUndefined();
  });

  it("goes on after a name that is gone, and finds nothing where nothing is", async () => {
    const call = table.call();
    const prefix = freshName("gone.");
    for (const end of ["a", "c"]) await declared(call, {}, `${prefix}${end}`);
    const after = await listQueues(table.call(), { prefix, limit: 10, after: `${prefix}b` });
    expect(after.queues.map(({ name }) => name)).toEqual([`${prefix}c`]);
    expect((await listQueues(table.call(), { prefix, limit: 10, after: `${prefix}zz` })).queues).toEqual([]);
    expect((await listQueues(table.call(), { prefix: "zzz", limit: 10, after: "a" })).queues).toEqual([]);
    expect((await listQueues(table.call(), { prefix: "a", limit: 10, after: "zzz" })).queues).toEqual([]);
  });
});
