import { describe, expect, it } from "vitest";
import type { Client } from "../support/client.ts";
import {
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
import { newXid, unique } from "../support/names.ts";
import { eventually, wait } from "../support/poll.ts";
import { useService } from "../support/service.ts";

const service = useService();

const nameOf = (s: Client): string => s.context.session ?? "";

/** Long enough to set the stage in, short enough to wait for. */
const EXPIRY_SECONDS = 2;

/** Ways in which a session's time ends, and what each does to the idle branches that it worked in. */
const endings = {
  detached: { end: async (s: Client) => expectOk(await s.detach(nameOf(s)), 204), idleAfter: "idle" },
  expired: { end: async () => wait(EXPIRY_SECONDS * 1000 + 300), idleAfter: "rollback-only" },
  resumed: { end: async (s: Client) => void (await service.client.attached(nameOf(s))), idleAfter: "rollback-only" },
} as const;

type Ending = keyof typeof endings;

const situations = ["active", "suspended", "idle", "rollback-only", "prepared"] as const;
type SessionSituation = (typeof situations)[number];

/** A branch of session `s` that has taken one message and published another, brought into the situation. */
async function worked(s: Client, situation: SessionSituation) {
  const queue = await newQueue(s, ["taken"]);
  const xid = newXid();
  const inBranch = await begin(s, xid);
  await consume(inBranch, queue);
  await enqueueBodies(inBranch, queue, ["published"]);
  if (situation === "suspended") expectXa(await s.end(xid, { suspend: true }), "XA_OK");
  if (situation === "idle") expectXa(await s.end(xid), "XA_OK");
  if (situation === "rollback-only") expectXa(await s.end(xid, { fail: true }), "XA_RBROLLBACK");
  if (situation === "prepared") await endAndPrepare(s, xid);
  return { queue, xid, situation };
}

describe.each(Object.keys(endings) as Ending[])("a session that is %s", (ending) => {
  it("dooms its open branches, leaves prepared ones in doubt, and its epoch is fenced", async () => {
    const c = service.client;
    const s = await c.attached(unique("session"), ending === "expired" ? EXPIRY_SECONDS : 300);
    const branches = await Promise.all(situations.map((situation) => worked(s, situation)));
    await endings[ending].end(s);
    for (const { xid, situation, queue } of branches) {
      const after =
        situation === "prepared" ? "prepared" : situation === "idle" ? endings[ending].idleAfter : "rollback-only";
      expect(await stateOf(c, xid), situation).toBe(after);
      expectRefused(await s.end(xid), "session-fenced");
      expectRefused(await s.within(xid).enqueue(queue, [{ body: "too late" }]), "session-fenced");
      if (after === "rollback-only") {
        expectXa(await c.prepare(xid), "XA_RBROLLBACK");
        expectXa(await c.rollback(xid), "XA_OK");
        expect(await bodiesOf(c, queue), situation).toEqual(["taken"]);
        continue;
      }
      expect(await bodiesOf(c, queue), situation).toEqual([]);
      expectXa(await c.commit(xid, { onePhase: after === "idle" }), "XA_OK");
      expect(await bodiesOf(c, queue), situation).toEqual(["published"]);
    }
    expectRefused(await s.keepAlive(nameOf(s)), "session-fenced");
    expectRefused(await s.start(newXid()), "session-fenced");
    const again = expectOk(await c.attach(nameOf(s)));
    expect(again).toMatchObject({ session: nameOf(s), resumed: true });
    expect(again.epoch).toBeGreaterThan(s.context.epoch ?? 0);
  });

  it("drops its association of a doomed or timed-out branch", async () => {
    const c = service.client;
    const s = await c.attached(unique("session"), ending === "expired" ? EXPIRY_SECONDS : 300);
    const other = await newSession(c);
    const [doomed, late] = [newXid(), newXid()];
    await begin(s, doomed);
    expectXa(await other.start(doomed, { join: true }), "XA_OK");
    expectXa(await other.end(doomed, { fail: true }), "XA_RBROLLBACK");
    expectRefused(await c.rollback(doomed), "illegal-state");
    await begin(s, late, 1);
    await wait(1300);
    await endings[ending].end(s);
    expect([await stateOf(c, doomed), await stateOf(c, late)]).toEqual(["rollback-only", "timed-out"]);
    expectXa(await c.rollback(doomed), "XA_OK");
    expectXa(await c.rollback(late), "XA_RBTIMEOUT");
  });

  it("dooms a branch that another session still works in, until that one has ended too", async () => {
    const c = service.client;
    const s = await c.attached(unique("session"), ending === "expired" ? EXPIRY_SECONDS : 300);
    const other = await newSession(c);
    const queue = await newQueue(c, ["taken"]);
    const xid = newXid();
    await consume(await begin(s, xid), queue);
    expectXa(await other.start(xid, { join: true }), "XA_OK");
    await endings[ending].end(s);
    expect(await stateOf(c, xid)).toBe("rollback-only");
    expectRefused(await other.within(xid).enqueue(queue, [{ body: "doomed" }]), "illegal-state");
    for (const verb of [c.prepare, c.commit, c.rollback]) expectRefused(await verb(xid), "illegal-state");
    expectXa(await (await newSession(c)).start(xid, { join: true }), "XA_RBROLLBACK");
    expectXa(await other.end(xid), "XA_RBROLLBACK");
    expectXa(await c.rollback(xid), "XA_OK");
    expect(await bodiesOf(c, queue)).toEqual(["taken"]);
  });

  it("ends its leases", async () => {
    const c = service.client;
    const s = await c.attached(unique("session"), ending === "expired" ? EXPIRY_SECONDS : 300);
    const queue = await newQueue(c, ["leased"]);
    const [delivery] = await take(s, queue, 1, 600);
    await endings[ending].end(s);
    expect(await take(c, queue)).toMatchObject([{ body: "leased", redelivered: true }]);
    const { outcomes } = expectOk(await c.accept([delivery?.deliveryId ?? ""]));
    expect(outcomes).toMatchObject([{ status: "lease-lost" }]);
  });
});

describe("an idle branch of a session that expires or is resumed", () => {
  it.each(["expired", "resumed"] as const)("is undone at once when it is %s", async (ending) => {
    const c = service.client;
    const s = await c.attached(unique("session"), ending === "expired" ? EXPIRY_SECONDS : 300);
    const { queue } = await worked(s, "idle");
    await endings[ending].end(s);
    await eventually(async () => expect(await bodiesOf(c, queue)).toEqual(["taken"]), {
      withinMs: ending === "resumed" ? 0 : 2000,
    });
  });
});

describe("attach and resume", () => {
  it("answer what recovery found: in doubt, finished, rolled back", async () => {
    const c = service.client;
    const s = await newSession(c);
    const { queue, xid } = await worked(s, "prepared");
    await worked(s, "active");
    await worked(s, "idle");
    const { recovery, resumed } = expectOk(await c.attach(nameOf(s)));
    expect(resumed).toBe(true);
    expect(recovery.inDoubt).toMatchObject([{ xid, enqueues: [{ queue }], dequeues: [{ queue }] }]);
    expect(recovery.rolledBack).toBeGreaterThanOrEqual(2);
    expect(recovery.unreadable).toEqual([]);
    expectXa(await c.rollback(xid), "XA_OK");
  });

  it("a keep-alive keeps the epoch and the associations", async () => {
    const c = service.client;
    const s = await c.attached(unique("session"), 2);
    const xid = newXid();
    await begin(s, xid);
    for (let times = 0; times < 3; times += 1) {
      await wait(900);
      expect(expectOk(await s.keepAlive(nameOf(s), 2)).epoch).toBe(s.context.epoch);
    }
    expect(await stateOf(c, xid)).toBe("active");
    expectXa(await s.end(xid), "XA_OK");
  });
});

describe("the order of checks", () => {
  it("is syntax, session fence, flag clash, state", async () => {
    const c = service.client;
    const stale = await newSession(c);
    await c.attached(nameOf(stale));
    const clash = { join: true, resume: true };
    const malformed = await stale.call("POST", `/dtx/${newXid()}/start`, { body: { join: "yes", resume: true } });
    expectRefused(malformed, "invalid-argument");
    expectRefused(await stale.start("1.xy.", clash), "invalid-argument");
    expectRefused(await stale.start(newXid(), clash), "session-fenced");
    expectRefused(await stale.end(newXid(), { suspend: true, fail: true }), "session-fenced");
    const current = await newSession(c);
    expectRefused(await current.start(newXid(), clash), "command-invalid");
    expectRefused(await current.end(newXid(), { suspend: true, fail: true }), "command-invalid");
    expectRefused(await current.start(newXid(), { join: true }), "not-found");
  });

  it("a session that was never attached is unknown, and an epoch of the future is fenced", async () => {
    const c = service.client;
    expectRefused(await c.with({ session: unique("session"), epoch: 1 }).start(newXid()), "not-found");
    const s = await newSession(c);
    expectRefused(await s.with({ epoch: (s.context.epoch ?? 0) + 1 }).start(newXid()), "session-fenced");
  });

  it("release, reject and extend with an xid are 503", async () => {
    const s = await newSession(service.client);
    const queue = await newQueue(s, ["leased"]);
    const ids = (await take(s, queue, 1, 60)).map((delivery) => delivery.deliveryId);
    const xid = newXid();
    const inBranch = await begin(s, xid);
    expectRefused(await inBranch.release(ids), "command-invalid");
    expectRefused(await inBranch.reject(ids), "command-invalid");
    expectRefused(await inBranch.extend(ids, 60), "command-invalid");
    expect((await inBranch.acquire(queue, { settle: "none" })).status).toBe(400);
  });
});
