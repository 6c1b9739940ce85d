import { describe, expect, it } from "vitest";
import {
  begin,
  bodiesOf,
  browseAll,
  consume,
  drain,
  endAndPrepare,
  enqueueBodies,
  expectOk,
  expectRefused,
  expectXa,
  newQueue,
  newQueues,
  newSession,
  stateOf,
} from "../support/moves.ts";
import { newXid } from "../support/names.ts";
import { useService } from "../support/service.ts";
import { expectMoved, swapped } from "../support/swapped.ts";

const service = useService();

describe("position and doomed work", () => {
  /** x1 sends "1" and suspends, x2 sends "2" and ends, x1 resumes, x2 commits; answers after x1 took what was there. */
  async function commitInTheOtherOrder() {
    const c = service.client;
    const s = await newSession(c);
    const queue = await newQueue(c);
    const [x1, x2] = [newXid(), newXid()];
    await enqueueBodies(await begin(s, x1), queue, ["1"]);
    expectXa(await s.end(x1, { suspend: true }), "XA_OK");
    await enqueueBodies(await begin(s, x2), queue, ["2"]);
    expectXa(await s.end(x2), "XA_OK");
    expectXa(await s.start(x1, { resume: true }), "XA_OK");
    expectXa(await s.prepare(x2), "XA_OK");
    expectXa(await s.commit(x2), "XA_OK");
    return { c, s, queue, x1 };
  }

  it("J-Q1: a take inside the first branch finds what the second one committed", async () => {
    const { c, s, queue, x1 } = await commitInTheOtherOrder();
    expect((await consume(s.within(x1), queue)).map((delivery) => delivery.body)).toEqual(["2"]);
    expectXa(await s.end(x1), "XA_OK");
    expectXa(await s.commit(x1, { onePhase: true }), "XA_OK");
    expect((await drain(c, queue)).map((delivery) => delivery.body)).toEqual(["1"]);
  });

  it("J-T1: position on the queue is commit order", async () => {
    const { c, s, queue, x1 } = await commitInTheOtherOrder();
    expectXa(await s.end(x1), "XA_OK");
    expectXa(await s.commit(x1, { onePhase: true }), "XA_OK");
    const messages = await browseAll(c, queue);
    expect(messages.map((message) => message.body)).toEqual(["2", "1"]);
    expect(BigInt(messages[1]?.sequence ?? 0)).toBeGreaterThan(BigInt(messages[0]?.sequence ?? 0));
  });

  it("J-T2: what a failed branch consumed comes again once, then none", async () => {
    const c = service.client;
    const s = await newSession(c);
    const queue = await newQueue(c, ["the message"]);
    const [x1, x2] = [newXid(), newXid()];
    await consume(await begin(s, x1), queue);
    expectXa(await s.end(x1, { fail: true }), "XA_RBROLLBACK");
    const again = await consume(await begin(s, x2), queue);
    expect(again).toMatchObject([{ body: "the message", redelivered: true }]);
    expectXa(await s.end(x2), "XA_OK");
    expectXa(await s.commit(x2, { onePhase: true }), "XA_OK");
    expect(await drain(c, queue)).toEqual([]);
    expectXa(await s.rollback(x1), "XA_OK");
    expect(await drain(c, queue)).toEqual([]);
  });

  it("X-04: a branch prepared by a session that is then detached is committed by another", async () => {
    const branch = await swapped(service.client);
    await endAndPrepare(branch.s1, branch.xid);
    expectOk(await branch.s1.detach(branch.s1.context.session ?? ""), 204);
    expect(await stateOf(branch.c, branch.xid)).toBe("prepared");
    expectXa(await (await newSession(branch.c)).commit(branch.xid), "XA_OK");
    await expectMoved(branch);
  });
});

describe("work that cannot be applied", () => {
  /** An ended branch that publishes to three queues, the second of which is full under `reject`. */
  async function oneOfThreeIsFull() {
    const c = service.client;
    const s = await newSession(c);
    const [first, last] = (await newQueues(c, 2)) as [string, string];
    const full = await newQueue(c, ["fills it"], { maxMessages: 1, overflow: "reject" });
    const xid = newXid();
    const inBranch = await begin(s, xid);
    for (const queue of [first, full, last]) await enqueueBodies(inBranch, queue, ["from the branch"]);
    expectXa(await s.end(xid), "XA_OK");
    const expectNothingApplied = async () => {
      expect([await bodiesOf(c, first), await bodiesOf(c, full), await bodiesOf(c, last)]).toEqual([
        [],
        ["fills it"],
        [],
      ]);
    };
    return { c, s, xid, expectNothingApplied };
  }

  it("W-2: prepare answers RBROLLBACK and nothing is applied", async () => {
    const { c, s, xid, expectNothingApplied } = await oneOfThreeIsFull();
    expectXa(await s.prepare(xid), "XA_RBROLLBACK");
    expect(await stateOf(c, xid)).toBe("rollback-only");
    await expectNothingApplied();
    expectXa(await s.rollback(xid), "XA_OK");
    await expectNothingApplied();
  });

  it("W-4: onePhase commit answers RBROLLBACK and nothing is applied", async () => {
    const { s, xid, expectNothingApplied } = await oneOfThreeIsFull();
    expectXa(await s.commit(xid, { onePhase: true }), "XA_RBROLLBACK");
    await expectNothingApplied();
    expectRefused(await s.rollback(xid), "not-found");
  });
});
