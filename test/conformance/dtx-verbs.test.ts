import { describe, expect, it } from "vitest";
import type { Client } from "../support/client.ts";
import {
  acceptAll,
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
  swap,
  take,
} from "../support/moves.ts";
import { newXid } from "../support/names.ts";
import { useService } from "../support/service.ts";
import { expectBack, expectMoved, swapped } from "../support/swapped.ts";

const service = useService();

describe("completion", () => {
  it("D-01: swap, commit onePhase", async () => {
    const branch = await swapped(service.client);
    expectXa(await branch.s1.end(branch.xid), "XA_OK");
    expect(await availableOn(branch.c, branch.a, branch.b)).toEqual([0, 0]);
    expectXa(await branch.s1.commit(branch.xid, { onePhase: true }), "XA_OK");
    await expectMoved(branch);
  });

  it("D-02: swap, prepare, commit", async () => {
    const branch = await swapped(service.client);
    await endAndPrepare(branch.s1, branch.xid);
    expect(await availableOn(branch.c, branch.a, branch.b)).toEqual([0, 0]);
    expectXa(await branch.s1.commit(branch.xid), "XA_OK");
    await expectMoved(branch);
  });

  it("D-03: swap, rollback", async () => {
    const branch = await swapped(service.client);
    expectXa(await branch.s1.end(branch.xid), "XA_OK");
    expect(await availableOn(branch.c, branch.a, branch.b)).toEqual([0, 0]);
    expectXa(await branch.s1.rollback(branch.xid), "XA_OK");
    await expectBack(branch);
  });

  it("D-04: swap, prepare, rollback", async () => {
    const branch = await swapped(service.client);
    await endAndPrepare(branch.s1, branch.xid);
    expect(await availableOn(branch.c, branch.a, branch.b)).toEqual([0, 0]);
    expectXa(await branch.s1.rollback(branch.xid), "XA_OK");
    await expectBack(branch);
  });
});

describe("start and end", () => {
  it("D-05: start without a session is 503", async () => {
    const xid = newXid();
    expectRefused(await service.client.start(xid), "command-invalid");
    expectRefused(await service.client.end(xid), "command-invalid");
    expect(await stateOf(service.client, xid)).toBe("none");
  });

  it("D-06: start of a branch that another session started is 530; the first still ends and rolls back", async () => {
    const branch = await swapped(service.client);
    const s2 = await newSession(branch.c);
    expectRefused(await s2.start(branch.xid), "not-allowed");
    expectXa(await branch.s1.end(branch.xid), "XA_OK");
    expectXa(await branch.s1.rollback(branch.xid), "XA_OK");
    await expectBack(branch);
  });

  it("D-07: a completed xid can be started again", async () => {
    const branch = await swapped(service.client);
    const { c, s1, xid, a, b } = branch;
    expectXa(await s1.end(xid), "XA_OK");
    expectXa(await s1.commit(xid, { onePhase: true }), "XA_OK");
    await swap(await begin(s1, xid), b, a);
    expectXa(await s1.end(xid), "XA_OK");
    expectXa(await s1.rollback(xid), "XA_OK");
    expect(await availableOn(c, a, b)).toEqual([0, 1]);
    await begin(s1, xid);
  });

  it("D-08: start join+resume is 503 and changes nothing; after a proper end another session rolls back", async () => {
    const branch = await swapped(service.client);
    const { c, s1, xid } = branch;
    const s2 = await newSession(c);
    const before = expectOk(await c.getBranch(xid));
    for (const session of [s1, s2])
      expectRefused(await session.start(xid, { join: true, resume: true }), "command-invalid");
    expect(expectOk(await c.getBranch(xid))).toEqual(before);
    expectXa(await s1.end(xid), "XA_OK");
    expectXa(await s2.rollback(xid), "XA_OK");
    await expectBack(branch);
  });

  it("D-12: end suspend+fail is 503 and changes nothing; after a proper end another session rolls back", async () => {
    const branch = await swapped(service.client);
    const { c, s1, xid } = branch;
    const before = expectOk(await c.getBranch(xid));
    expectRefused(await s1.end(xid, { suspend: true, fail: true }), "command-invalid");
    expect(expectOk(await c.getBranch(xid))).toEqual(before);
    expectXa(await s1.end(xid), "XA_OK");
    expectXa(await (await newSession(c)).rollback(xid), "XA_OK");
    await expectBack(branch);
  });

  it("D-09: two joined sessions each move a message the other way; one commit moves both", async () => {
    const c = service.client;
    const [s1, s2] = [await newSession(c), await newSession(c)];
    const [a, b] = [await newQueue(c, ["from a"]), await newQueue(c, ["from b"])];
    const xid = newXid();
    const inS1 = await begin(s1, xid);
    expect(expectOk(await s2.start(xid, { join: true }))).toMatchObject({ xa: "XA_OK", state: "active" });
    await swap(inS1, a, b);
    await swap(s2.within(xid), b, a);
    expectXa(await s1.end(xid), "XA_OK");
    expectXa(await s2.end(xid), "XA_OK");
    expect(await availableOn(c, a, b)).toEqual([0, 0]);
    expectXa(await s1.commit(xid, { onePhase: true }), "XA_OK");
    expect([await bodiesOf(c, a), await bodiesOf(c, b)]).toEqual([["from b"], ["from a"]]);
  });

  it("D-10: swap, suspend, resume, swap, end, commit moves both as one branch", async () => {
    await expectResumedWork(async () => {});
  });

  it("D-11: another branch runs and commits while this one is suspended", async () => {
    await expectResumedWork(async (s1) => {
      const [a, b] = [await newQueue(s1, ["of the other"]), await newQueue(s1)];
      const other = newXid();
      await swap(await begin(s1, other), a, b);
      expectXa(await s1.end(other), "XA_OK");
      expectXa(await s1.commit(other, { onePhase: true }), "XA_OK");
      expect([await bodiesOf(s1, a), await bodiesOf(s1, b)]).toEqual([[], ["of the other"]]);
    });
  });

  it("D-13: end of a never started xid is 409", async () => {
    expectRefused(await (await newSession(service.client)).end(newXid()), "illegal-state");
  });

  it("D-14: work outside the branch is visible alone, and a detach leaves an ended branch untouched", async () => {
    const c = service.client;
    const s1 = await newSession(c);
    const queue = await newQueue(c);
    const xid = newXid();
    await enqueueBodies(await begin(s1, xid), queue, ["one"]);
    expectXa(await s1.end(xid), "XA_OK");
    await enqueueBodies(s1, queue, ["two"]);
    const deliveries = await take(s1, queue, 10);
    expect(deliveries.map((delivery) => delivery.body)).toEqual(["two"]);
    await acceptAll(s1, deliveries);
    expectOk(await s1.detach(s1.context.session ?? ""), 204);
    expect(await stateOf(c, xid)).toBe("idle");
    expectXa(await (await newSession(c)).commit(xid, { onePhase: true }), "XA_OK");
    expect(await bodiesOf(c, queue)).toEqual(["one"]);
  });

  async function expectResumedWork(meanwhile: (s1: Client) => Promise<void>): Promise<void> {
    const c = service.client;
    const s1 = await newSession(c);
    const [a, b] = [await newQueue(c, ["one", "two"]), await newQueue(c)];
    const xid = newXid();
    await swap(await begin(s1, xid), a, b);
    expectXa(await s1.end(xid, { suspend: true }), "XA_OK");
    await meanwhile(s1);
    expectRefused(await s1.within(xid).enqueue(b, [{ body: "while suspended" }]), "illegal-state");
    expectXa(await s1.start(xid, { resume: true }), "XA_OK");
    await swap(s1.within(xid), a, b);
    expectXa(await s1.end(xid), "XA_OK");
    expect(await availableOn(c, a, b)).toEqual([0, 0]);
    expectXa(await s1.commit(xid, { onePhase: true }), "XA_OK");
    expect([await bodiesOf(c, a), await bodiesOf(c, b)]).toEqual([[], ["one", "two"]]);
  }
});

describe("the wrong verb", () => {
  it("D-15: commit onePhase of a prepared branch is 409; another session rolls back, or the right commit works", async () => {
    for (const finish of ["rollback", "commit"] as const) {
      const branch = await swapped(service.client);
      await endAndPrepare(branch.s1, branch.xid);
      expectRefused(await branch.s1.commit(branch.xid, { onePhase: true }), "illegal-state");
      expect(await stateOf(branch.c, branch.xid)).toBe("prepared");
      expectXa(await (await newSession(branch.c))[finish](branch.xid), "XA_OK");
      await (finish === "commit" ? expectMoved(branch) : expectBack(branch));
    }
  });

  it("D-16: commit twoPhase of an unprepared branch is 409; another session rolls back, or the right commit works", async () => {
    for (const onePhase of [false, true]) {
      const branch = await swapped(service.client);
      expectXa(await branch.s1.end(branch.xid), "XA_OK");
      expectRefused(await branch.s1.commit(branch.xid), "illegal-state");
      expect(await stateOf(branch.c, branch.xid)).toBe("idle");
      const other = await newSession(branch.c);
      expectXa(await (onePhase ? other.commit(branch.xid, { onePhase }) : other.rollback(branch.xid)), "XA_OK");
      await (onePhase ? expectMoved(branch) : expectBack(branch));
    }
  });

  const verbs = [
    ["D-17", "commit", (c: Client, xid: string) => c.commit(xid, { onePhase: true })],
    ["D-18", "rollback", (c: Client, xid: string) => c.rollback(xid)],
    ["D-19", "prepare", (c: Client, xid: string) => c.prepare(xid)],
  ] as const;
  it.each(verbs)("%s: %s while associated is 409; the session ends and rolls back", async (_id, _verb, run) => {
    const branch = await swapped(service.client);
    expectRefused(await run(await newSession(branch.c), branch.xid), "illegal-state");
    expectRefused(await run(branch.s1, branch.xid), "illegal-state");
    expect(await stateOf(branch.c, branch.xid)).toBe("active");
    expectXa(await branch.s1.end(branch.xid), "XA_OK");
    expectXa(await branch.s1.rollback(branch.xid), "XA_OK");
    await expectBack(branch);
  });

  it("D-20: a branch whose session was detached without end is rollback-only", async () => {
    const c = service.client;
    const [s1, s2] = [await newSession(c), await newSession(c)];
    const queue = await newQueue(c, ["the message"]);
    const xid = newXid();
    await consume(await begin(s2, xid), queue);
    expectOk(await s2.detach(s2.context.session ?? ""), 204);
    expectXa(await s1.prepare(xid), "XA_RBROLLBACK");
    expectXa(await s1.rollback(xid), "XA_OK");
    expect(await bodiesOf(c, queue)).toEqual(["the message"]);
  });

  it("D-27: resume with nothing to resume is 503", async () => {
    const { s1, c, xid } = await swapped(service.client);
    expectRefused(await (await newSession(c)).start(xid, { resume: true }), "command-invalid");
    expectXa(await s1.end(xid), "XA_OK");
    expectRefused(await s1.start(xid, { resume: true }), "command-invalid");
    expect(await stateOf(c, xid)).toBe("idle");
  });

  it("D-28: each verb but start and end is 404 on an unknown xid", async () => {
    const s1 = await newSession(service.client);
    const xid = newXid();
    const answers = [
      await s1.prepare(xid),
      await s1.commit(xid),
      await s1.commit(xid, { onePhase: true }),
      await s1.rollback(xid),
      await s1.forget(xid),
      await s1.heuristic(xid, "commit"),
      await s1.heuristic(xid, "rollback"),
      await s1.getTimeout(xid),
      await s1.setTimeout(xid, 10),
      await s1.getBranch(xid),
    ];
    for (const answer of answers) expectRefused(answer, "not-found");
  });
});
