import { describe, expect, it } from "vitest";
import {
  availableOn,
  begin,
  bodiesOf,
  consume,
  endAndPrepare,
  enqueueBodies,
  expectOk,
  expectRefused,
  expectXa,
  newQueue,
  newSession,
  stateOf,
  take,
} from "../support/moves.ts";
import { newXid } from "../support/names.ts";
import { eventually, wait } from "../support/poll.ts";
import { useService } from "../support/service.ts";
import { expectMoved, swapped } from "../support/swapped.ts";

const service = useService();

/** A little more than the one second after which the short branches of these tests are over. */
const AFTER_ONE_SECOND_MS = 1300;

describe("the timeout of a branch", () => {
  it("D-21: is 60 until it is set to 200", async () => {
    const { c, xid } = await swapped(service.client);
    expect(expectOk(await c.getTimeout(xid))).toEqual({ timeoutSeconds: 60 });
    expect(expectOk(await c.setTimeout(xid, 200))).toEqual({ timeoutSeconds: 200 });
    expect(expectOk(await c.getTimeout(xid))).toEqual({ timeoutSeconds: 200 });
  });

  it("D-25: cannot be set to 3601, which is 542 and changes nothing", async () => {
    const { c, s1, xid } = await swapped(service.client);
    expectOk(await c.setTimeout(xid, 3600));
    for (const wrong of [3601, -1, 1.5]) {
      const answer = await c.setTimeout(xid, wrong);
      expectRefused(answer, "invalid-argument");
      expect(answer.problem?.amqp).toBe(542);
    }
    expect(expectOk(await c.getTimeout(xid))).toEqual({ timeoutSeconds: 3600 });
    expectRefused(await s1.start(newXid(), { timeoutSeconds: 3601 }), "invalid-argument");
  });

  it("is the one given at start, and 0 is the default in start and set", async () => {
    const s = await newSession(service.client);
    const [given, zero] = [newXid(), newXid()];
    await begin(s, given, 17);
    await begin(s, zero, 0);
    expect(expectOk(await s.getTimeout(given)).timeoutSeconds).toBe(17);
    expect(expectOk(await s.getTimeout(zero)).timeoutSeconds).toBe(60);
    expect(expectOk(await s.setTimeout(given, 0)).timeoutSeconds).toBe(60);
    expect(expectOk(await s.getTimeout(given)).timeoutSeconds).toBe(60);
  });

  it("restarts the clock when it is set", async () => {
    const s = await newSession(service.client);
    const xid = newXid();
    await begin(s, xid, 1);
    await wait(600);
    expectOk(await s.setTimeout(xid, 2));
    await wait(1000);
    expect(await stateOf(s, xid)).toBe("active");
    await eventually(async () => expect(await stateOf(s, xid)).toBe("timed-out"));
  });

  it("is fresh for a reused xid", async () => {
    const s = await newSession(service.client);
    const xid = newXid();
    await begin(s, xid, 1);
    expectXa(await s.end(xid), "XA_OK");
    expectXa(await s.commit(xid, { onePhase: true }), "XA_OK");
    await begin(s, xid);
    expect(expectOk(await s.getTimeout(xid)).timeoutSeconds).toBe(60);
    await wait(AFTER_ONE_SECOND_MS);
    expect(await stateOf(s, xid)).toBe("active");
  });

  it("J-F8: belongs to each branch alone", async () => {
    const s = await newSession(service.client);
    const [x1, x2] = [newXid(), newXid()];
    await begin(s, x1);
    await begin(s, x2, 300);
    expectOk(await s.setTimeout(x1, 100));
    expect(expectOk(await s.getTimeout(x1)).timeoutSeconds).toBe(100);
    expect(expectOk(await s.getTimeout(x2)).timeoutSeconds).toBe(300);
    const x3 = newXid();
    await begin(s, x3);
    expect(expectOk(await s.getTimeout(x3)).timeoutSeconds).toBe(60);
  });

  it("J-F10: can no longer be set after a commit, and another branch keeps its own", async () => {
    const s = await newSession(service.client);
    const [x1, x2] = [newXid(), newXid()];
    for (const xid of [x1, x2]) await begin(s, xid, 200);
    expectXa(await s.end(x1), "XA_OK");
    expectXa(await s.commit(x1, { onePhase: true }), "XA_OK");
    expectRefused(await s.setTimeout(x1, 100), "not-found");
    expectOk(await s.setTimeout(x2, 100));
    await begin(s, x1);
    expect(expectOk(await s.getTimeout(x1)).timeoutSeconds).toBe(60);
    expect(expectOk(await s.getTimeout(x2)).timeoutSeconds).toBe(100);
  });
});

describe("a deadline that passes", () => {
  it("D-24: undoes the work by itself within 2 s; end and rollback tell it, then the xid is unknown", async () => {
    const { c, s1, xid, a, b, moved } = await swapped(service.client);
    expectOk(await c.setTimeout(xid, 1));
    await wait(1000);
    await eventually(async () => expect(await availableOn(c, a, b)).toEqual([1, 0]), { withinMs: 2000 });
    const [again] = await take(c, a);
    expect(again).toMatchObject({ body: moved.body, messageId: moved.messageId, redelivered: true });
    expect(await bodiesOf(c, b)).toEqual([]);
    expectXa(await s1.end(xid), "XA_RBTIMEOUT");
    expect(await stateOf(c, xid)).toBe("timed-out");
    expectXa(await s1.rollback(xid), "XA_RBTIMEOUT");
    expectRefused(await s1.rollback(xid), "not-found");
  });

  it("gives the message to the next consumer who asks, before any other call", async () => {
    const { c, xid, a, moved } = await swapped(service.client);
    expectOk(await c.setTimeout(xid, 1));
    await wait(1000);
    const { deliveries } = expectOk(await c.acquire(a, { waitSeconds: 3 }));
    expect(deliveries).toMatchObject([{ messageId: moved.messageId, redelivered: true }]);
  });

  it("J-F9: ends only the branch whose deadline it is", async () => {
    const s = await newSession(service.client);
    const queue = await newQueue(s, ["one", "two"]);
    const [x1, x2] = [newXid(), newXid()];
    await consume(await begin(s, x1, 1), queue);
    await consume(await begin(s, x2), queue);
    await wait(AFTER_ONE_SECOND_MS);
    await eventually(async () => expect(await bodiesOf(s, queue)).toEqual(["one"]), { withinMs: 2000 });
    expectXa(await s.end(x1), "XA_RBTIMEOUT");
    expectXa(await s.end(x2), "XA_OK");
    expectXa(await s.prepare(x1), "XA_RBTIMEOUT");
    expectXa(await s.commit(x2, { onePhase: true }), "XA_OK");
    expectRefused(await s.prepare(x1), "not-found");
    expect(await bodiesOf(s, queue)).toEqual(["one"]);
  });

  it("X-09: never touches a prepared branch", async () => {
    const branch = await swapped(service.client);
    expectOk(await branch.c.setTimeout(branch.xid, 1));
    await endAndPrepare(branch.s1, branch.xid);
    await wait(2000);
    expectOk(await branch.c.recovery());
    expect(await stateOf(branch.c, branch.xid)).toBe("prepared");
    expect(await availableOn(branch.c, branch.a, branch.b)).toEqual([0, 0]);
    expectXa(await branch.s1.commit(branch.xid), "XA_OK");
    await expectMoved(branch);
  });

  it("is remembered as a rollback after the first verb that was told", async () => {
    const s = await newSession(service.client);
    const queue = await newQueue(s);
    const xids = Array.from({ length: 4 }, () => newXid());
    for (const xid of xids) {
      await enqueueBodies(await begin(s, xid, 1), queue, ["never"]);
      expectXa(await s.end(xid), "XA_OK");
    }
    await wait(AFTER_ONE_SECOND_MS);
    const verbs = [
      s.prepare,
      s.rollback,
      (xid: string) => s.commit(xid),
      (xid: string) => s.commit(xid, { onePhase: true }),
    ];
    for (const [index, verb] of verbs.entries()) {
      const xid = xids[index] ?? "";
      expectXa(await verb(xid), "XA_RBTIMEOUT");
      expect(await stateOf(s, xid)).toBe("rolled-back");
      for (const again of verbs) expectRefused(await again(xid), "not-found");
      await begin(s, xid);
    }
    expect(await bodiesOf(s, queue)).toEqual([]);
  });
});
