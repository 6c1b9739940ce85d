import { describe, expect, it } from "vitest";
import { accept } from "../../shared/commands/deliveries/accept.ts";
import { deleteQueue } from "../../shared/commands/queues/delete.ts";
import { purge } from "../../shared/commands/queues/purge.ts";
import { findDeleted, sweepDeleted, sweepQueue } from "../../shared/commands/queues/sweep.ts";
import { sweepFreed } from "../../shared/commands/queues/sweep-freed.ts";
import { sweepAll } from "../../shared/commands/sweep-all.ts";
import { DELETED_QUEUE_SWEEP_MS } from "../../shared/domain/limits.ts";
import type { Remove } from "../../shared/domain/operation.ts";
import type { Queue } from "../../shared/domain/queue.ts";
import { hold, type Run, release } from "../../shared/domain/run.ts";
import { parseXid } from "../../shared/domain/xid.ts";
import { deletedQueueKey, runKey, storeKey, tailKey } from "../../shared/records/keys.ts";
import { bodiesOn, counts, declared, messageOf, put, replace, reread, standing, take } from "../support/messages.ts";
import { type TestCall, useTable } from "../support/table.ts";

const table = useTable();

const always = { ifEmpty: false, ifUnused: false };

/** A branch takes hold of leased messages, in the run alone: enough for whoever must leave them be. */
const held = async (call: TestCall, queue: Queue, run: Run, indexes: readonly number[]): Promise<Run> => {
  await take(call, run, { indexes });
  const before = await reread(call, run);
  const xid = parseXid("1.0a.");
  if (before === undefined || xid === undefined) throw new Error("nothing to hold");
  const by = { xid, deadlineMs: call.now() + 60_000, session: { name: "s", epoch: 1 } };
  const after = hold(before, indexes, "inc", by);
  await replace(call, queue, before, after);
  return after;
};

const twenty = (word: string) => Array.from({ length: 20 }, (_, i) => `${word}${i}`);

describe("purge", () => {
  it("settles what is available, on every partition, and leaves what someone has or gets later", async () => {
    const call = table.call();
    const queue = await declared(call, { partitions: 2, maxMessages: 100 });
    const run = await put(call, queue, ["a", "b", "c"], 0);
    await put(call, queue, twenty("x"), 1);
    await take(call, run, { indexes: [1] });
    expect(await purge(table.call(), queue.name)).toEqual({ purged: 22, more: false });
    expect(await bodiesOn(call, queue)).toEqual(["b"]);
    expect(await counts(call, queue)).toMatchObject({ available: 0, leased: 1, enqueued: 23, settled: 22 });
    for (let i = 0; i < 3; i++)
      await put(
        call,
        queue,
        Array.from({ length: 33 }, () => "n"),
      );
    await expect(put(call, queue, ["one", "two"])).rejects.toThrow("took no run");
    expect(await purge(call, "no-such-queue")).toMatchObject({ refusal: "not-found" });
  });

  it("leaves a message that is enqueued while it runs", async () => {
    const call = table.call();
    const queue = await declared(call);
    await put(call, queue, ["old"]);
    let isFirst = true;
    table.around(async (command, send) => {
      if (command === "QueryCommand" && isFirst) {
        isFirst = false;
        await put(call, queue, ["new"]);
      }
      return send();
    });
    expect(await purge(table.call(), queue.name)).toEqual({ purged: 1, more: false });
    expect(await bodiesOn(call, queue)).toEqual(["new"]);
  });

  it("counts each message once beside a consumer", async () => {
    const call = table.call();
    const queue = await declared(call);
    const run = await put(call, queue, ["a", "b"]);
    const deliveries = await take(call, run, { indexes: [0] });
    const [purged, outcomes] = await Promise.all([
      purge(table.call(), queue.name),
      accept(table.call(), { deliveries, session: undefined, xid: undefined }),
    ]);
    expect([purged, outcomes]).toEqual([{ purged: 1, more: false }, ["ok"]]);
    expect(await counts(call, queue)).toMatchObject({ available: 0, leased: 0, settled: 2 });
  });

  it("stops at its time limit and says so", async () => {
    const call = table.call();
    const queue = await declared(call);
    await put(call, queue, ["a"]);
    expect(await purge(table.call(0), queue.name)).toEqual({ purged: 0, more: true });
    expect(await purge(table.call(), queue.name)).toEqual({ purged: 1, more: false });
  });
});

describe("delete", () => {
  it("moves everything to the dead-letter queue in order, also what is leased", async () => {
    const call = table.call();
    const dead = await declared(call);
    const queue = await declared(call, { deadLetterQueue: dead.name });
    await take(call, await put(call, queue, ["a", "b"]), { indexes: [1] });
    await put(call, queue, ["c"]);
    expect(await deleteQueue(table.call(), queue.name, always)).toBeUndefined();
    const letters = await standing(call, dead);
    expect(letters.map(({ body }) => body)).toEqual(["a", "b", "c"]);
    expect(letters[1]?.properties.deadLetter).toMatchObject({ reason: "queue-deleted", deliveryCount: 1 });
    expect(await deleteQueue(table.call(), queue.name, always)).toMatchObject({ refusal: "not-found" });
    await expect(put(call, queue, ["late"])).rejects.toThrow("is closed");
  });

  it("only when it is empty, or unused, if asked so", async () => {
    const call = table.call();
    const queue = await declared(call, { messageTtlSeconds: 60 });
    const run = await put(call, queue, ["a"]);
    const refused = { refusal: "precondition-failed" };
    expect(await deleteQueue(call, queue.name, { ifEmpty: true, ifUnused: false })).toMatchObject(refused);
    await take(call, run, { leaseSeconds: 10 });
    expect(await deleteQueue(call, queue.name, { ifEmpty: false, ifUnused: true })).toMatchObject(refused);
    table.wait(10_000);
    expect(await deleteQueue(table.call(), queue.name, { ifEmpty: true, ifUnused: true })).toMatchObject(refused);
    table.wait(60_000);
    expect(await deleteQueue(table.call(), queue.name, { ifEmpty: true, ifUnused: true })).toBeUndefined();
  });

  it("lets one of two calls delete it", async () => {
    const call = table.call();
    const queue = await declared(call);
    await put(call, queue, twenty("m"));
    const answers = await Promise.all([0, 1].map(() => deleteQueue(table.call(), queue.name, always)));
    expect(answers.filter((answer) => answer === undefined)).toHaveLength(1);
    expect(answers.filter((answer) => answer?.refusal === "not-found")).toHaveLength(1);
  });
});

describe("the sweep of a deleted queue", () => {
  it("leaves what a branch holds, and takes it when a rollback frees it", async () => {
    const call = table.call();
    const dead = await declared(call);
    const queue = await declared(call, { deadLetterQueue: dead.name });
    const run = await held(call, queue, await put(call, queue, ["a", "b"]), [0]);
    await deleteQueue(call, queue.name, always);
    expect(await bodiesOn(call, dead)).toEqual(["b"]);
    table.wait(DELETED_QUEUE_SWEEP_MS);
    await sweepAll(table.call());
    expect(await call.store.read(deletedQueueKey(queue))).toBeDefined();
    const before = await reread(call, run);
    if (before === undefined) throw new Error("the held message is gone");
    await replace(call, queue, before, { ...release(before, [0], 0), holds: {} });
    const remove: Remove = { kind: "remove", id: "r", run: run.key, indexes: [0], bytes: 1, isWhole: false };
    await sweepFreed(table.call(), [remove]);
    expect(await bodiesOn(call, dead)).toEqual(["b", "a"]);
  });

  it("goes on for 16 minutes, takes late arrivals, and buries the queue with its counters kept", async () => {
    const call = table.call();
    const queue = await declared(call, { partitions: 3, maxMessages: 50 });
    await put(call, queue, ["a", "b"], 1);
    const arriving = await put(call, queue, ["late"], 2);
    const item = await call.store.read(runKey(arriving.key));
    await deleteQueue(call, queue.name, always);
    // A handler that knew the queue alive writes late.
    await call.store.commit([
      { kind: "put", key: runKey(arriving.key), item: { ...item }, require: [], otherwise: "reload" },
    ]);
    const deleted = await findDeleted(call, queue);
    if (deleted === undefined) throw new Error("the queue has no mark");
    expect(await sweepDeleted(table.call(), deleted)).toMatchObject({ more: false, left: 0 });
    expect(await reread(call, arriving)).toBeUndefined();
    expect(await findDeleted(call, queue)).toBeDefined();
    const store = async () => (await call.store.read(storeKey)) ?? {};
    const before = await store();
    table.wait(DELETED_QUEUE_SWEEP_MS);
    await Promise.all([sweepDeleted(table.call(), deleted), sweepDeleted(table.call(), deleted)]);
    expect(await findDeleted(call, queue)).toBeUndefined();
    expect(await call.store.read(tailKey({ ...queue, partition: 2 }))).toBeUndefined();
    const after = await store();
    expect(Number(after.next ?? 0) - Number(before.next ?? 0)).toBe(3);
    expect(Number(after.settled ?? 0) - Number(before.settled ?? 0)).toBe(4);
  });
});

describe("the sweep of a live queue", () => {
  it("sends on what time and deliveries have ended, leaves the rest, and does it once when run twice at once", async () => {
    const call = table.call();
    const dead = await declared(call);
    const queue = await declared(call, { maxDeliveries: 1, deadLetterQueue: dead.name, maxMessages: 10 });
    const run = await put(call, queue, [
      messageOf("short", { ttlSeconds: 5 }),
      "exhausted",
      "fresh",
      messageOf("leased", { ttlSeconds: 5 }),
    ]);
    await take(call, run, { indexes: [1], leaseSeconds: 1 });
    await take(call, run, { indexes: [3], leaseSeconds: 60 });
    table.wait(5_000);
    await Promise.all([sweepQueue(table.call(), queue), sweepQueue(table.call(), queue)]);
    const letters = await standing(call, dead);
    expect(letters.map(({ body, properties }) => [body, properties.deadLetter?.reason])).toEqual([
      ["short", "expired"],
      ["exhausted", "max-deliveries"],
    ]);
    expect(await bodiesOn(call, queue)).toEqual(["fresh", "leased"]);
    await put(call, queue, ["1", "2", "3", "4", "5", "6", "7", "8"]);
    await expect(put(call, queue, ["9"])).rejects.toThrow("took no run");
  });

  it("drops what its retention ends", async () => {
    const call = table.call();
    const dead = await declared(call);
    const queue = await declared(call, { retentionSeconds: 5, deadLetterQueue: dead.name });
    await put(call, queue, ["a"]);
    table.wait(5_000);
    await sweepAll(table.call());
    expect(await counts(table.call(), queue)).toMatchObject({ available: 0, settled: 1, deadLettered: 0 });
    expect(await bodiesOn(call, queue)).toEqual([]);
    expect(await bodiesOn(call, dead)).toEqual([]);
  });

  it("passes over a record that cannot be read and names it", async () => {
    const call = table.call();
    const queue = await declared(call, { messageTtlSeconds: 5 });
    const broken = await put(call, queue, ["broken"]);
    await put(call, queue, ["a"]);
    const key = runKey(broken.key);
    await call.store.commit([{ kind: "put", key, item: { v: 2, s: "?" }, require: [], otherwise: "reload" }]);
    table.wait(5_000);
    const swept = await sweepAll(table.call());
    expect(swept.unreadable).toContainEqual(key);
    expect(swept.more).toBe(false);
    const left = await call.store.query({ pk: key.pk, beginsWith: "M#" });
    expect(left.items.map((item) => item.sk)).toEqual([key.sk]);
  });

  it("stops at its time limit and goes on the next time", async () => {
    const call = table.call();
    const queue = await declared(call, { messageTtlSeconds: 5 });
    await put(call, queue, ["a"]);
    table.wait(5_000);
    expect(await sweepQueue(table.call(0), queue)).toMatchObject({ more: true });
    expect(await bodiesOn(call, queue)).toEqual(["a"]);
    expect(await sweepQueue(table.call(), queue)).toMatchObject({ more: false, left: 0 });
    expect(await bodiesOn(call, queue)).toEqual([]);
  });
});
