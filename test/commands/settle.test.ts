import { describe, expect, it } from "vitest";
import { accept } from "../../shared/commands/deliveries/accept.ts";
import { extend } from "../../shared/commands/deliveries/extend.ts";
import { reject } from "../../shared/commands/deliveries/reject.ts";
import { release } from "../../shared/commands/deliveries/release.ts";
import { deleteQueue } from "../../shared/commands/queues/delete.ts";
import { attachSession } from "../../shared/commands/sessions/attach.ts";
import type { Delivery } from "../../shared/domain/delivery.ts";
import { isRefusal } from "../../shared/domain/refusal.ts";
import type { SessionRef } from "../../shared/domain/session.ts";
import { parseXid } from "../../shared/domain/xid.ts";
import { payloadPk, runOwner } from "../../shared/records/keys.ts";
import { bodiesOn, counts, declared, freshName, messageOf, put, reread, standing, take } from "../support/messages.ts";
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

describe("reject", () => {
  it("moves messages with everything they had, in order, bodies stored apart included", async () => {
    const call = table.call();
    const dead = await declared(call, { messageTtlSeconds: 500 });
    const queue = await declared(call, { deadLetterQueue: dead.name });
    const big = "x".repeat(500_000);
    const first = await put(call, queue, [
      messageOf(big, { messageId: "given", headers: { k: 1 }, ttlSeconds: 60 }),
      messageOf("b", { contentType: "text/plain" }),
    ]);
    const second = await put(call, queue, ["c"]);
    const deliveries = [...(await take(call, second)), ...(await take(call, first))];
    expect(await reject(call, of(deliveries), "no good")).toEqual(["ok", "ok", "ok"]);
    const letters = await standing(call, dead);
    expect(letters.map(({ body }) => body)).toEqual([big, "b", "c"]);
    expect(letters.map(({ messageId }) => messageId)).toEqual([
      "given",
      `${first.messageIdBase}-1`,
      `${second.messageIdBase}-0`,
    ]);
    expect(letters[0]?.properties).toMatchObject({
      headers: { k: 1 },
      deadLetter: { queue: queue.name, reason: "rejected", note: "no good", deliveryCount: 1 },
    });
    expect(letters[0]?.properties.ttlSeconds).toBeUndefined();
    expect(letters[1]?.properties.contentType).toBe("text/plain");
    expect(await counts(call, queue)).toMatchObject({ available: 0, leased: 0, settled: 0, deadLettered: 3 });
    expect(await counts(call, dead)).toMatchObject({ available: 3, enqueued: 3 });
    // Its own time to live is over long before the dead-letter queue's is.
    table.wait(400_000);
    expect(await counts(table.call(), dead)).toMatchObject({ available: 3 });
    expect((await call.store.query({ pk: payloadPk(runOwner(first.key)), beginsWith: "0" })).items).toEqual([]);
  });

  it("drops and counts without a dead-letter queue, and when that is gone", async () => {
    const call = table.call();
    const gone = freshName();
    for (const deadLetterQueue of [null, gone]) {
      const queue = await declared(call, { deadLetterQueue });
      expect(await reject(call, of(await take(call, await put(call, queue, ["a"]))), undefined)).toEqual(["ok"]);
      expect(await counts(call, queue)).toMatchObject({ leased: 0, settled: 1, deadLettered: 0 });
    }
  });

  it("finds out late that the dead-letter queue was deleted", async () => {
    const call = table.call();
    const dead = await declared(call);
    const queue = await declared(call, { deadLetterQueue: dead.name });
    const deliveries = await take(call, await put(call, queue, ["a"]));
    const knowing = table.call();
    await knowing.settings.find(knowing.store, dead.name, knowing.now());
    await deleteQueue(call, dead.name, { ifEmpty: false, ifUnused: false });
    expect(await reject(knowing, of(deliveries), undefined)).toEqual(["ok"]);
    expect(await counts(call, queue)).toMatchObject({ settled: 1, deadLettered: 0 });
  });

  it("fills a limited dead-letter queue with the oldest that fit and drops the rest", async () => {
    const call = table.call();
    const dead = await declared(call, { maxMessages: 3 });
    const queue = await declared(call, { deadLetterQueue: dead.name });
    await put(call, dead, ["there"]);
    const deliveries = await take(call, await put(call, queue, ["a", "b", "c"]));
    expect(await reject(call, of(deliveries), undefined)).toEqual(["ok", "ok", "ok"]);
    expect(await bodiesOn(call, dead)).toEqual(["there", "a", "b"]);
    expect(await counts(call, queue)).toMatchObject({ settled: 1, deadLettered: 2 });
    const more = await take(call, await put(call, queue, ["d"]));
    expect(await reject(call, of(more), undefined)).toEqual(["ok"]);
    expect(await counts(call, queue)).toMatchObject({ settled: 2, deadLettered: 2 });
  });

  it("makes room on a ring by dropping its oldest available messages", async () => {
    const call = table.call();
    const dead = await declared(call, { maxMessages: 4, overflow: "ring" });
    const queue = await declared(call, { deadLetterQueue: dead.name });
    await put(call, dead, ["w"]);
    await take(call, await put(call, dead, ["leased"]));
    await put(call, dead, ["x", "y"]);
    const deliveries = await take(call, await put(call, queue, ["a", "b"]));
    expect(await reject(call, of(deliveries), undefined)).toEqual(["ok", "ok"]);
    expect(await bodiesOn(call, dead)).toEqual(["leased", "y", "a", "b"]);
    expect(await counts(call, dead)).toMatchObject({ available: 3, leased: 1, settled: 2 });
    // More than the ring holds: only the newest stay. One place is leased, so it takes what is free.
    const many = await take(call, await put(call, queue, ["1", "2", "3", "4", "5"]));
    await reject(call, of(many), undefined);
    const counted = await counts(call, queue);
    expect(counted.settled + counted.deadLettered).toBe(7);
    expect(await counts(call, dead)).toMatchObject({ leased: 1 });
  });

  it("with capacity on both queues takes from one what it gives to the other", async () => {
    const call = table.call();
    const dead = await declared(call, { maxBytes: 3 });
    const queue = await declared(call, { maxBytes: 4, deadLetterQueue: dead.name });
    const deliveries = await take(call, await put(call, queue, ["ab", "cd"]));
    await expect(put(call, queue, ["e"])).rejects.toThrow("took no run");
    expect(await reject(call, of(deliveries), undefined)).toEqual(["ok", "ok"]);
    expect(await bodiesOn(call, dead)).toEqual(["ab"]);
    await put(call, queue, ["efgh"]);
    await put(call, dead, ["f"]);
    await expect(put(call, dead, ["g"])).rejects.toThrow("took no run");
  });

  it("in a branch is a flag clash, after the fence", async () => {
    const call = table.call();
    const queue = await declared(call);
    const deliveries = await take(call, await put(call, queue, ["a"]));
    const xid = parseXid("1.aa.");
    const session = await attached(call, freshName("s"));
    expect(await reject(call, { deliveries, session, xid }, undefined)).toMatchObject({ refusal: "command-invalid" });
    const fenced = { ...session, epoch: 9 };
    expect(await release(call, { deliveries, session: fenced, xid }, 0, undefined)).toMatchObject({
      refusal: "session-fenced",
    });
  });
});
