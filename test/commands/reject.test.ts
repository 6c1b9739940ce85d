import { describe, expect, it } from "vitest";
import { reject } from "../../shared/commands/deliveries/reject.ts";
import { release } from "../../shared/commands/deliveries/release.ts";
import { deleteQueue } from "../../shared/commands/queues/delete.ts";
import type { Delivery } from "../../shared/domain/delivery.ts";
import { parseXid } from "../../shared/domain/xid.ts";
import { payloadPk, runOwner } from "../../shared/records/keys.ts";
import { attachedSession } from "../support/branches.ts";
import { bodiesOn, counts, declared, freshName, messageOf, put, standing, take } from "../support/messages.ts";
import { useTable } from "../support/table.ts";

const table = useTable();

const of = (deliveries: readonly Delivery[]) => ({ deliveries, session: undefined, xid: undefined });

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
    const session = await attachedSession(call);
    expect(await reject(call, { deliveries, session, xid }, undefined)).toMatchObject({ refusal: "command-invalid" });
    const fenced = { ...session, epoch: 9 };
    expect(await release(call, { deliveries, session: fenced, xid }, 0, undefined)).toMatchObject({
      refusal: "session-fenced",
    });
  });
});
