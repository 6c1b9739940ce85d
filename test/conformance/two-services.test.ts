import { describe, expect, it } from "vitest";
import type { Client } from "../support/client.ts";
import {
  acceptAll,
  availableOn,
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
  newSession,
  stateOf,
  swap,
  take,
} from "../support/moves.ts";
import { newXid, unique } from "../support/names.ts";
import { wait } from "../support/poll.ts";
import { useTwoServices } from "../support/service.ts";

const { clients } = useTwoServices();
const [onA, onB] = clients;

/** The same session, spoken in through the other service. */
const through = (c: Client, s: Client): Client => c.with(s.context);

describe("two services on one table are one", () => {
  it("a branch starts on A, works on B, ends on A, is prepared on B and committed on A", async () => {
    const a = await newSession(onA);
    const b = through(onB, a);
    const [from, to] = [await newQueue(onA, ["the message"]), await newQueue(onB)];
    const xid = newXid();
    await begin(a, xid);
    await swap(b.within(xid), from, to);
    expectXa(await a.end(xid), "XA_OK");
    expectXa(await b.prepare(xid), "XA_OK");
    expect((await onA.recover()).map((branch) => branch.xid)).toContain(xid);
    expectXa(await a.commit(xid), "XA_OK");
    expect(expectOk(await b.commit(xid))).toMatchObject({ xa: "XA_OK", remembered: true });
    expect(await stateOf(onB, xid)).toBe("committed");
    expect(await availableOn(onB, from, to)).toEqual([0, 1]);
    expect((await drain(onB, to)).map((delivery) => delivery.body)).toEqual(["the message"]);
  });

  it("a branch is suspended on A, resumed on B and rolled back on A", async () => {
    const a = await newSession(onA);
    const queue = await newQueue(onA, ["the message"]);
    const xid = newXid();
    await consume(await begin(a, xid), queue);
    expectXa(await a.end(xid, { suspend: true }), "XA_OK");
    const b = through(onB, a);
    expectXa(await b.start(xid, { resume: true }), "XA_OK");
    await enqueueBodies(b.within(xid), queue, ["never"]);
    expectXa(await b.end(xid), "XA_OK");
    expectXa(await onA.rollback(xid), "XA_OK");
    expect(await bodiesOf(onB, queue)).toEqual(["the message"]);
  });

  it("sessions of both join one branch", async () => {
    const [a, b] = [await newSession(onA), await newSession(onB)];
    const queue = await newQueue(onA);
    const xid = newXid();
    await enqueueBodies(await begin(a, xid), queue, ["of A"]);
    expectXa(await b.start(xid, { join: true }), "XA_OK");
    await enqueueBodies(b.within(xid), queue, ["of B"]);
    expectXa(await a.end(xid), "XA_OK");
    expectRefused(await onA.prepare(xid), "illegal-state");
    expectXa(await b.end(xid), "XA_OK");
    expectXa(await onA.commit(xid, { onePhase: true }), "XA_OK");
    expect(await bodiesOf(onB, queue)).toEqual(["of A", "of B"]);
  });

  it("an attach on A fences the epoch that B attached", async () => {
    const name = unique("session");
    const b = await onB.attached(name);
    const xid = newXid();
    await begin(b, xid);
    const a = await onA.attached(name);
    expect(a.context.epoch).toBeGreaterThan(b.context.epoch ?? 0);
    expectRefused(await b.end(xid), "session-fenced");
    expectRefused(await b.keepAlive(name), "session-fenced");
    expect(await stateOf(onB, xid)).toBe("rollback-only");
    expect(expectOk(await through(onB, a).keepAlive(name)).epoch).toBe(a.context.epoch);
  });

  it("a detach on A dooms the branch that B works in, and a deadline set on A passes on B", async () => {
    const [s1, s2] = [await newSession(onB), await newSession(onB)];
    const queue = await newQueue(onA, ["one", "two"]);
    const [doomed, late] = [newXid(), newXid()];
    await consume(await begin(s1, doomed), queue);
    await consume(await begin(s2, late), queue);
    expectOk(await onA.detach(s1.context.session ?? ""), 204);
    expectOk(await onA.setTimeout(late, 1));
    await wait(1300);
    expect([await stateOf(onB, doomed), await stateOf(onB, late)]).toEqual(["rollback-only", "timed-out"]);
    expectXa(await onB.rollback(doomed), "XA_OK");
    expectXa(await onB.rollback(late), "XA_RBTIMEOUT");
    expect(await bodiesOf(onA, queue)).toEqual(["one", "two"]);
  });

  it("a message leased on A is nobody else's on B, and is accepted there", async () => {
    const queue = await newQueue(onA, ["one", "two"]);
    const [first] = await take(onA, queue);
    const others = await take(onB, queue, 10);
    expect(others.map((delivery) => delivery.body)).toEqual(["two"]);
    if (first === undefined) throw new Error("nothing was leased");
    await acceptAll(onB, [first]);
    await acceptAll(onA, others);
    expect(expectOk(await onA.accept([first.deliveryId])).outcomes).toMatchObject([{ status: "not-found" }]);
    expect(await availableOn(onA, queue)).toEqual([0]);
  });

  it("a release on A gives the message to a consumer that waits on B", async () => {
    const queue = await newQueue(onA, ["the message"]);
    const leased = await take(onA, queue);
    const waiting = onB.acquire(queue, { waitSeconds: 10 });
    await wait(200);
    expectOk(await onA.release(leased.map((delivery) => delivery.deliveryId)));
    expect(expectOk(await waiting).deliveries).toMatchObject([{ body: "the message", redelivered: true }]);
  });

  it("both enqueue to one queue and each message has a sequence of its own", async () => {
    const queue = await newQueue(onA);
    const sent = Array.from({ length: 20 }, (_, n) => `${n}`);
    await Promise.all(sent.map((body, n) => enqueueBodies(n % 2 === 0 ? onA : onB, queue, [body])));
    const messages = await browseAll(onB, queue);
    expect(messages.map((message) => message.body).sort()).toEqual([...sent].sort());
    expect(new Set(messages.map((message) => message.sequence)).size).toBe(sent.length);
  });

  it("both take from one queue and each message is taken once", async () => {
    const sent = Array.from({ length: 60 }, (_, n) => `${n}`);
    const queue = await newQueue(onA);
    for (const body of sent) await enqueueBodies(onA, queue, [body]);
    const empty = async (c: Client): Promise<string[]> => (await drain(c, queue)).map((delivery) => delivery.body);
    const taken = await Promise.all([empty(onA), empty(onB), empty(onA), empty(onB)]);
    expect(taken.flat().sort()).toEqual([...sent].sort());
  });

  it("the same command with one Idempotency-Key, once on each, is done once", async () => {
    const queue = await newQueue(onA);
    const key = { "idempotency-key": unique("key") };
    const first = expectOk(await onA.enqueue(queue, [{ body: "once" }], key), 201);
    expect(expectOk(await onB.enqueue(queue, [{ body: "once" }], key), 201)).toEqual(first);
    expect(await bodiesOf(onB, queue)).toEqual(["once"]);
  });

  it("recovery on both at once, while one commits, finishes the branch once", async () => {
    const s = await newSession(onA);
    const queue = await newQueue(onA);
    const xid = newXid();
    await enqueueBodies(await begin(s, xid), queue, ["once"]);
    await endAndPrepare(s, xid);
    const [, , committed] = await Promise.all([onA.recovery(), onB.recovery(), onB.commit(xid)]);
    expectXa(committed, "XA_OK");
    expect(await bodiesOf(onA, queue)).toEqual(["once"]);
  });
});

describe("a queue that A deletes", () => {
  it("and declares again is the new one on B at once", async () => {
    const queue = await newQueue(onA, ["old"]);
    expect(await bodiesOf(onB, queue)).toEqual(["old"]);
    await enqueueBodies(onB, queue, ["old too"]);
    expectOk(await onA.deleteQueue(queue), 204);
    expectOk(await onA.declare(queue), 201);
    await enqueueBodies(onB, queue, ["new"]);
    expect(await bodiesOf(onA, queue)).toEqual(["new"]);
    expect((await drain(onB, queue)).map((delivery) => delivery.body)).toEqual(["new"]);
    expect(await availableOn(onB, queue)).toEqual([0]);
  });

  it("is gone on B too", async () => {
    const queue = await newQueue(onA, ["old"]);
    const [leased] = await take(onB, queue);
    expectOk(await onA.deleteQueue(queue), 204);
    expectRefused(await onB.getQueue(queue), "not-found");
    expectRefused(await onB.enqueue(queue, [{ body: "lost" }]), "not-found");
    expectRefused(await onB.acquire(queue), "not-found");
    const { outcomes } = expectOk(await onB.accept([leased?.deliveryId ?? ""]));
    expect(outcomes).toMatchObject([{ status: "not-found" }]);
  });

  it("with other settings has those on B", async () => {
    const queue = await newQueue(onA);
    await enqueueBodies(onB, queue, ["1", "2"]);
    expectOk(await onA.deleteQueue(queue), 204);
    expectOk(await onA.declare(queue, { maxMessages: 1, overflow: "reject" }), 201);
    await enqueueBodies(onB, queue, ["1"]);
    expectRefused(await onB.enqueue(queue, [{ body: "2" }]), "resource-limit-exceeded");
  });

  it("takes the place of a prepared publish, whose commit on B still succeeds", async () => {
    const s = await newSession(onB);
    const [gone, stays] = [await newQueue(onA), await newQueue(onA)];
    const xid = newXid();
    const inBranch = await begin(s, xid);
    for (const queue of [gone, stays]) await enqueueBodies(inBranch, queue, ["published"]);
    await endAndPrepare(s, xid);
    expectOk(await onA.deleteQueue(gone), 204);
    expectOk(await onA.declare(gone), 201);
    expectXa(await onB.commit(xid), "XA_OK");
    expect(await bodiesOf(onA, stays)).toEqual(["published"]);
    expect(await bodiesOf(onB, gone)).toEqual([]);
  });
});
