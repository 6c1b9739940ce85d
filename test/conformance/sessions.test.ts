import { describe, expect, it } from "vitest";
import {
  acceptAll,
  begin,
  bodiesOf,
  endAndPrepare,
  enqueueBodies,
  expectOk,
  expectRefused,
  newQueue,
  newSession,
  stateOf,
  take,
} from "../support/moves.ts";
import { newXid, unique } from "../support/names.ts";
import { wait } from "../support/poll.ts";
import { useService } from "../support/service.ts";

const service = useService();
const c = service.client;

/** Seconds from now to a time of an answer. */
const secondsTo = (time: string): number => (Date.parse(time) - Date.now()) / 1000;

function expectExpiry(expiresAt: string, seconds: number): void {
  expect(new Date(expiresAt).toISOString()).toBe(expiresAt);
  expect(secondsTo(expiresAt)).toBeLessThanOrEqual(seconds + 1);
  expect(secondsTo(expiresAt)).toBeGreaterThan(seconds - 10);
}

const nothingToRecover = { inDoubt: [], finished: 0, rolledBack: 0, unreadable: [] };

describe("attach and resume", () => {
  it("a new name is 201 at epoch 1, an existing one 200 and an epoch more", async () => {
    const session = unique("session");
    const first = expectOk(await c.attach(session), 201);
    expect(first).toMatchObject({ session, epoch: 1, resumed: false, recovery: nothingToRecover });
    expectExpiry(first.expiresAt, 300);
    const second = expectOk(await c.attach(session, 60), 200);
    expect(second).toMatchObject({ session, epoch: 2, resumed: true, recovery: nothingToRecover });
    expectExpiry(second.expiresAt, 60);
  });

  it("takes timeouts from 1 to 86400 seconds", async () => {
    expectExpiry(expectOk(await c.attach(unique("session"), 1), 201).expiresAt, 1);
    expectExpiry(expectOk(await c.attach(unique("session"), 86_400), 201).expiresAt, 86_400);
    for (const timeoutSeconds of [0, -1, 86_401, 1.5]) {
      const session = unique("session");
      const answer = await c.attach(session, timeoutSeconds);
      expectRefused(answer, "invalid-argument");
      expect(answer.problem?.errors?.map((error) => error.path)).toEqual(["timeoutSeconds"]);
      expectRefused(await c.getSession(session), "not-found");
    }
  });

  it.each([".a", "a", "A.b_c-9", "x".repeat(127), "constructor", "__proto__"])("takes the name %s", async (session) => {
    expect(expectOk(await c.attach(session), 201).session).toBe(session);
    expect(expectOk(await c.getSession(session)).session).toBe(session);
    expectOk(await c.detach(session), 204);
  });

  it("by many at once gives each its own epoch, and one of them is the current one", async () => {
    const session = unique("session");
    const answers = await Promise.all(Array.from({ length: 8 }, () => c.attach(session)));
    const epochs = answers.map((answer) => (answer.problem === undefined ? answer.body.epoch : 0)).sort();
    expect(epochs).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    expect(answers.map((answer) => answer.status).sort()).toEqual([200, 200, 200, 200, 200, 200, 200, 201]);
    expect(expectOk(await c.getSession(session)).epoch).toBe(8);
  });

  it("an epoch is never used twice: after a detach and after an expiry it goes on counting", async () => {
    const session = unique("session");
    const epochs = [expectOk(await c.attach(session), 201).epoch];
    expectOk(await c.detach(session), 204);
    epochs.push(expectOk(await c.attach(session, 1), 200).epoch);
    await wait(1100);
    const third = expectOk(await c.attach(session), 200);
    expect(third.resumed).toBe(true);
    epochs.push(third.epoch);
    await service.restart();
    epochs.push(expectOk(await c.attach(session), 200).epoch);
    expect(epochs).toEqual([1, 2, 3, 4]);
  });

  it("tells what is in doubt of this session, and rolls back what it had not prepared", async () => {
    const s = await newSession(c);
    const session = s.context.session ?? "";
    const queue = await newQueue(c, ["a", "b"]);
    const [prepared, open] = [newXid(), newXid()];
    const branch = await begin(s, prepared);
    const [taken] = await take(branch, queue);
    await acceptAll(branch, taken === undefined ? [] : [taken]);
    expectOk(await branch.enqueue(queue, [{ body: "c", messageId: "m-c" }]), 201);
    await endAndPrepare(s, prepared);
    await acceptAll(await begin(s, open), await take(s, queue));
    const { recovery } = expectOk(await c.attach(session));
    expect(recovery).toMatchObject({ rolledBack: 1, unreadable: [] });
    expect(recovery.inDoubt).toEqual([
      {
        xid: prepared,
        preparedAt: expect.stringMatching(/^\d{4}-.*Z$/),
        enqueues: [{ queue, messageId: "m-c" }],
        dequeues: [{ queue, messageId: taken?.messageId, sequence: taken?.sequence }],
      },
    ]);
    expect(await bodiesOf(c, queue)).toEqual(["b"]);
    expect(await stateOf(c, prepared)).toBe("prepared");
  });
});

describe("keep alive", () => {
  it("renews the expiry at the same epoch, with another timeout or the same", async () => {
    const s = await newSession(c, 30);
    const session = s.context.session ?? "";
    const renewed = expectOk(await s.keepAlive(session, 500), 200);
    expect(renewed).toMatchObject({ session, epoch: 1 });
    expectExpiry(renewed.expiresAt, 500);
    expectExpiry(expectOk(await c.getSession(session)).expiresAt, 500);
    expect(expectOk(await s.keepAlive(session), 200).epoch).toBe(1);
    expect(expectOk(await c.getSession(session)).epoch).toBe(1);
  });

  it("keeps a session alive past its first timeout", async () => {
    const s = await newSession(c, 4);
    for (let i = 0; i < 4; i += 1) {
      await wait(1500);
      expectOk(await s.keepAlive(s.context.session ?? "", 4));
    }
    await enqueueBodies(s, await newQueue(c), ["still alive"]);
  });

  it("is fenced under an older epoch, an epoch to come, after a detach and after an expiry", async () => {
    const s = await newSession(c);
    const session = s.context.session ?? "";
    expectRefused(await s.with({ epoch: 2 }).keepAlive(session), "session-fenced");
    const resumed = await c.attached(session);
    expectRefused(await s.keepAlive(session), "session-fenced");
    expectOk(await resumed.keepAlive(session));
    expectOk(await c.detach(session), 204);
    expectRefused(await resumed.keepAlive(session), "session-fenced");
    const short = await newSession(c, 1);
    await wait(1100);
    expectRefused(await short.keepAlive(short.context.session ?? ""), "session-fenced");
  });

  it("also with the Session-Epoch header alone", async () => {
    const session = unique("session");
    expectOk(await c.attach(session), 201);
    const answer = await c.call<{ epoch: number }>("PUT", `/sessions/${session}`, {
      headers: { "session-epoch": "1" },
    });
    expect(expectOk(answer, 200).epoch).toBe(1);
  });

  it("is the only thing that renews", async () => {
    const s = await newSession(c, 60);
    const session = s.context.session ?? "";
    const { expiresAt } = expectOk(await c.getSession(session));
    const queue = await newQueue(c, ["a"]);
    await enqueueBodies(s, queue, ["b"]);
    await acceptAll(s, await take(s, queue));
    const xid = newXid();
    await begin(s, xid);
    await s.end(xid);
    expect(expectOk(await c.getSession(session)).expiresAt).toBe(expiresAt);
  });
});

describe("detach", () => {
  it("ends the session; again it is still detached; a name that never was is 404", async () => {
    const s = await newSession(c);
    const session = s.context.session ?? "";
    expectOk(await s.detach(session), 204);
    expect(expectOk(await c.getSession(session)).state).toBe("detached");
    expectOk(await c.detach(session), 204);
    expectRefused(await c.detach(unique("never")), "not-found");
  });

  it("under an old epoch is fenced, and ends nothing", async () => {
    const s = await newSession(c);
    const session = s.context.session ?? "";
    const resumed = await c.attached(session);
    expectRefused(await s.detach(session), "session-fenced");
    await enqueueBodies(resumed, await newQueue(c), ["alive"]);
    expectOk(await resumed.detach(session), 204);
  });
});

describe("get", () => {
  it("tells epoch, state, expiry and the associated branches", async () => {
    const s = await newSession(c, 120);
    const session = s.context.session ?? "";
    const [active, suspended, ended, prepared] = [newXid(), newXid(), newXid(), newXid()];
    for (const xid of [active, suspended, ended, prepared]) await begin(s, xid);
    await s.end(suspended, { suspend: true });
    await s.end(ended);
    await endAndPrepare(s, prepared);
    const view = expectOk(await c.getSession(session));
    expect(view).toMatchObject({ session, epoch: 1, state: "attached" });
    expectExpiry(view.expiresAt, 120);
    const text = JSON.stringify(view);
    for (const xid of [active, suspended]) expect(text).toContain(xid);
    for (const xid of [ended, prepared]) expect(text).not.toContain(xid);
    await service.restart();
    expect(JSON.stringify(expectOk(await c.getSession(session)))).toBe(text);
  });

  it("tells that it has expired, and needs nobody to have met it before", async () => {
    const s = await newSession(c, 1);
    await wait(1100);
    expect(expectOk(await c.getSession(s.context.session ?? "")).state).toBe("expired");
    expectRefused(await c.getSession(unique("never")), "not-found");
  });
});

describe("a restart", () => {
  it("ends no session, lease, association or branch", async () => {
    const s = await newSession(c);
    const queue = await newQueue(c, ["a", "b"]);
    const xid = newXid();
    const branch = await begin(s, xid);
    const deliveries = await take(s, queue, 1, 300);
    await enqueueBodies(branch, queue, ["in it"]);
    await service.restart();
    await acceptAll(s, deliveries);
    expectOk(await s.keepAlive(s.context.session ?? ""));
    await enqueueBodies(branch, queue, ["in it too"]);
    await endAndPrepare(s, xid);
    expectOk(await s.commit(xid));
    expect(await bodiesOf(c, queue)).toEqual(["b", "in it", "in it too"]);
  });
});
