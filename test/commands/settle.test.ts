import { describe, expect, it } from "vitest";
import { accept } from "../../shared/commands/deliveries/accept.ts";
import { extend } from "../../shared/commands/deliveries/extend.ts";
import { release } from "../../shared/commands/deliveries/release.ts";
import { deleteQueue } from "../../shared/commands/queues/delete.ts";
import { attachSession } from "../../shared/commands/sessions/attach.ts";
import type { Delivery } from "../../shared/domain/delivery.ts";
import { isRefusal } from "../../shared/domain/refusal.ts";
import type { SessionRef } from "../../shared/domain/session.ts";
import { payloadPk, runOwner } from "../../shared/records/keys.ts";
import { bodiesOn, counts, declared, freshName, put, reread, standing, take } from "../support/messages.ts";
import { answerLost, type TestCall, useTable } from "../support/table.ts";

const table = useTable();

const of = (deliveries: readonly Delivery[], session?: SessionRef) => ({ deliveries, session, xid: undefined });

const attached = async (call: TestCall, name: string): Promise<SessionRef> => {
  const answer = await attachSession(call, name, 60);
  if (isRefusal(answer)) throw new Error(answer.detail);
  return { name, epoch: answer.session.epoch };
};

describe("accept", () => {
  it("settles small messages for 1 read unit and 2 write units, and leaves no record", async () => {
    const setUp = table.call();
    const queue = await declared(setUp);
    const run = await put(setUp, queue, ["a"]);
    const deliveries = await take(setUp, run);
    const call = table.call();
    await call.settings.find(call.store, queue.name, call.now());
    const before = { rru: call.store.receipt.rru, wru: call.store.receipt.wru };
    expect(await accept(call, of(deliveries))).toEqual(["ok"]);
    expect(call.store.receipt.rru - before.rru).toBe(1);
    expect(call.store.receipt.wru - before.wru).toBe(2);
    expect(await reread(call, run)).toBeUndefined();
    expect(await counts(call, queue)).toEqual({
      available: 0,
      leased: 0,
      held: 0,
      enqueued: 1,
      settled: 1,
      deadLettered: 0,
    });
  });

  it("decides each delivery on its own, in the order given, one named twice the same twice", async () => {
    const call = table.call();
    const [first, second] = [await declared(call), await declared(call)];
    const run = await put(call, first, ["a", "b", "c"]);
    const other = await put(call, second, ["x"]);
    const [a, b, c] = await take(call, run);
    const [x] = await take(call, other);
    if (a === undefined || b === undefined || c === undefined || x === undefined) throw new Error("too few");
    expect(await accept(call, of([b]))).toEqual(["ok"]);
    const wrong = { ...a, token: "another" };
    const beyond = { ...a, index: 7 };
    const outcomes = await accept(call, of([c, x, b, wrong, c, beyond]));
    expect(outcomes).toEqual(["ok", "ok", "not-found", "lease-lost", "ok", "not-found"]);
    expect(await bodiesOn(call, first)).toEqual(["a"]);
    expect(await counts(call, first)).toMatchObject({ leased: 1, settled: 2 });
    expect(await counts(call, second)).toMatchObject({ leased: 0, settled: 1 });
  });

  it("takes the bodies along with the last message of a run, but not those that a retention ends", async () => {
    const call = table.call();
    for (const [retentionSeconds, left] of [
      [null, 0],
      [3600, 1],
    ] as const) {
      const queue = await declared(call, { retentionSeconds });
      const run = await put(call, queue, ["x".repeat(2000), "y"]);
      const chunks = () => call.store.query({ pk: payloadPk(runOwner(run.key)), beginsWith: "0" });
      const deliveries = await take(call, run);
      await accept(call, of(deliveries.slice(0, 1)));
      expect((await chunks()).items).toHaveLength(1);
      await accept(call, of(deliveries));
      expect((await chunks()).items).toHaveLength(left);
    }
  });

  it("counts every message once when all are accepted at the same time", async () => {
    const call = table.call();
    const queue = await declared(call, { maxMessages: 20 });
    const run = await put(
      call,
      queue,
      Array.from({ length: 20 }, (_, i) => `m${i}`),
    );
    const deliveries = await take(call, run);
    const outcomes = await Promise.all(deliveries.map((delivery) => accept(table.call(), of([delivery]))));
    expect(outcomes.flat()).toEqual(deliveries.map(() => "ok"));
    expect(await counts(call, queue)).toMatchObject({ available: 0, leased: 0, settled: 20 });
    // All of the capacity has come back.
    await put(
      call,
      queue,
      Array.from({ length: 20 }, () => "n"),
    );
    await expect(put(call, queue, ["one more"])).rejects.toThrow("took no run");
  });

  it("gives one message to one of two leases: after the deadline the older one is lost", async () => {
    const call = table.call();
    const queue = await declared(call);
    const run = await put(call, queue, ["a"]);
    const late = await take(call, run, { leaseSeconds: 1 });
    table.wait(1_001);
    expect(await accept(table.call(), of(late))).toEqual(["lease-lost"]);
    const now = await take(table.call(), run);
    expect(await accept(table.call(), of(late))).toEqual(["lease-lost"]);
    expect(await accept(table.call(), of(now))).toEqual(["ok"]);
  });

  it("loses the lease when someone takes the message between its read and its write", async () => {
    const call = table.call();
    const queue = await declared(call);
    const run = await put(call, queue, ["a"]);
    const late = await take(call, run, { leaseSeconds: 1 });
    const racing = table.call();
    let raced = false;
    table.around(async (command, send) => {
      if (command === "DeleteItemCommand" && !raced) {
        raced = true;
        table.wait(1_001);
        await take(table.call(), run);
      }
      return send();
    });
    expect(await accept(racing, of(late))).toEqual(["lease-lost"]);
    expect(await counts(call, queue)).toMatchObject({ leased: 1 });
  });

  it("is accepted when the answer to its write is lost, also when others changed the run since", async () => {
    const call = table.call();
    const queue = await declared(call);
    const run = await put(call, queue, ["a", "b", "c"]);
    const [a, b] = await take(call, run);
    if (a === undefined || b === undefined) throw new Error("too few");
    let lost = 0;
    table.around(async (command, send) => {
      const answer = await send();
      if (command !== "PutItemCommand" || lost++ > 0) return answer;
      await accept(table.call(), of([b]));
      throw answerLost();
    });
    expect(await accept(table.call(), of([a]))).toEqual(["ok"]);
    expect(lost).toBeGreaterThan(1);
    expect(await bodiesOn(call, queue)).toEqual(["c"]);
  });

  it("goes by the session of the lease, not of the caller", async () => {
    const call = table.call();
    const queue = await declared(call);
    const run = await put(call, queue, ["a", "b"]);
    const name = freshName("s");
    const session = await attached(call, name);
    const [a, b] = await take(call, run, { session });
    if (a === undefined || b === undefined) throw new Error("too few");
    expect(await accept(table.call(), of([a]))).toEqual(["ok"]);
    const resumed = await attached(call, name);
    expect(await accept(table.call(), of([b]))).toEqual(["lease-lost"]);
    expect(await accept(table.call(), of([b], resumed))).toEqual(["lease-lost"]);
    expect(await accept(table.call(), of([b], session))).toMatchObject({ refusal: "session-fenced" });
  });

  it("finds nothing of a queue that was deleted, and all of one declared again", async () => {
    const call = table.call();
    const old = await declared(call);
    const oldDeliveries = await take(call, await put(call, old, ["a"]));
    const knowing = table.call();
    await knowing.settings.find(knowing.store, old.name, knowing.now());
    expect(await deleteQueue(call, old.name, { ifEmpty: false, ifUnused: false })).toBeUndefined();
    const renewed = await declared(call, {}, old.name);
    const deliveries = await take(call, await put(call, renewed, ["b"]));
    expect(await accept(knowing, of([...oldDeliveries, ...deliveries]))).toEqual(["not-found", "ok"]);
  });

  it("of 500 messages on 100 runs goes in one call", async () => {
    const call = table.call();
    const queue = await declared(call);
    const deliveries: Delivery[] = [];
    for (let i = 0; i < 100; i++) {
      deliveries.push(...(await take(call, await put(call, queue, ["a", "b", "c", "d", "e"]))));
    }
    const outcomes = await accept(table.call(), of(deliveries));
    expect(outcomes).toEqual(deliveries.map(() => "ok"));
    expect(await counts(call, queue)).toMatchObject({ available: 0, leased: 0, settled: 500 });
  });
});

describe("release", () => {
  it("gives back at once or after a delay, which counts as leased", async () => {
    const call = table.call();
    const queue = await declared(call);
    const run = await put(call, queue, ["a", "b"]);
    const [a, b] = await take(call, run);
    if (a === undefined || b === undefined) throw new Error("too few");
    expect(await release(call, of([a]), 0, undefined)).toEqual(["ok"]);
    expect(await release(call, of([b]), 10, undefined)).toEqual(["ok"]);
    expect(await counts(call, queue)).toMatchObject({ available: 1, leased: 1, settled: 0 });
    table.wait(10_000);
    expect(await counts(table.call(), queue)).toMatchObject({ available: 2, leased: 0 });
    expect((await reread(call, run))?.slots.map((slot) => slot.state !== "settled" && slot.deliveries)).toEqual([1, 1]);
  });

  it("dead-letters what was delivered as often as allowed", async () => {
    const call = table.call();
    const dead = await declared(call);
    const queue = await declared(call, { maxDeliveries: 2, deadLetterQueue: dead.name });
    const run = await put(call, queue, ["a"]);
    expect(await release(call, of(await take(call, run)), 0, undefined)).toEqual(["ok"]);
    expect(await counts(call, queue)).toMatchObject({ available: 1, deadLettered: 0 });
    expect(await release(call, of(await take(call, run)), 60, "gave up")).toEqual(["ok"]);
    expect(await counts(call, queue)).toMatchObject({ available: 0, leased: 0, settled: 0, deadLettered: 1 });
    const [letter] = await standing(call, dead);
    expect(letter?.properties.deadLetter).toMatchObject({
      reason: "max-deliveries",
      note: "gave up",
      deliveryCount: 2,
    });
  });

  it("dead-letters what expired while it was leased, and drops what its retention ended", async () => {
    const call = table.call();
    const dead = await declared(call);
    const queue = await declared(call, { messageTtlSeconds: 5, retentionSeconds: 8, deadLetterQueue: dead.name });
    const run = await put(call, queue, ["a", "b"]);
    const [a, b] = await take(call, run, { leaseSeconds: 60 });
    if (a === undefined || b === undefined) throw new Error("too few");
    table.wait(5_000);
    expect(await release(table.call(), of([a]), 0, undefined)).toEqual(["ok"]);
    table.wait(3_000);
    expect(await release(table.call(), of([b]), 0, undefined)).toEqual(["ok"]);
    const letters = await standing(call, dead);
    expect(letters.map(({ body, properties }) => [body, properties.deadLetter?.reason])).toEqual([["a", "expired"]]);
    expect(await counts(call, queue)).toMatchObject({ available: 0, leased: 0, settled: 1, deadLettered: 1 });
  });
});

describe("extend", () => {
  it("gives a later deadline and never an earlier one", async () => {
    const call = table.call();
    const queue = await declared(call);
    const deliveries = await take(call, await put(call, queue, ["a"]), { leaseSeconds: 10 });
    expect(await extend(call, of(deliveries), 30)).toEqual(["ok"]);
    expect(await extend(call, of(deliveries), 1)).toEqual(["ok"]);
    table.wait(29_000);
    expect(await extend(table.call(), of(deliveries), 5)).toEqual(["ok"]);
    table.wait(5_000);
    expect(await extend(table.call(), of(deliveries), 30)).toEqual(["lease-lost"]);
  });
});
