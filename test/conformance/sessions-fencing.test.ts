import { describe, expect, it } from "vitest";
import type { Client } from "../support/client.ts";
import type { Answer } from "../support/http.ts";
import {
  availableOn,
  begin,
  bodiesOf,
  countsOf,
  drain,
  enqueueBodies,
  expectOk,
  expectRefused,
  newQueue,
  newSession,
  stateOf,
  take,
} from "../support/moves.ts";
import { newXid, unique } from "../support/names.ts";
import { expectOutcomes, idsOf } from "../support/outcomes.ts";
import { wait } from "../support/poll.ts";
import { useService } from "../support/service.ts";
import type { Delivery } from "../support/shapes.ts";

const service = useService();
const c = service.client;

/** Every kind of call that takes part in a session, in `s`; `ids` are deliveries that stand, `xid` is a branch of it. */
const calls = (
  s: Client,
  queue: string,
  ids: readonly string[],
  xid: string,
): Record<string, Promise<Answer<unknown>>> => ({
  enqueue: s.enqueue(queue, [{ body: "never" }]),
  acquire: s.acquire(queue),
  "acquire settle none": s.acquire(queue, { settle: "none" }),
  "waiting acquire": s.acquire(queue, { waitSeconds: 1 }),
  accept: s.accept(ids),
  release: s.release(ids),
  reject: s.reject(ids),
  extend: s.extend(ids, 1000),
  "keep alive": s.keepAlive(s.context.session ?? ""),
  start: s.start(newXid()),
  join: s.start(xid, { join: true }),
  resume: s.start(xid, { resume: true }),
  end: s.end(xid),
  "end suspend": s.end(xid, { suspend: true }),
  "end fail": s.end(xid, { fail: true }),
  "enqueue in the branch": s.within(xid).enqueue(queue, [{ body: "never" }]),
  "acquire in the branch": s.within(xid).acquire(queue),
  "accept in the branch": s.within(xid).accept(ids),
});

/** Ways in which an epoch stops being the session's current one. */
const endings: Record<string, (session: string) => Promise<unknown>> = {
  "resumed under a newer epoch": (session) => c.attach(session),
  detached: (session) => c.detach(session),
  expired: () => wait(2600),
};

describe.concurrent("the fence", () => {
  it.each(Object.entries(endings))("every call of an epoch that was %s is session-fenced", async (how, end) => {
    const queue = await newQueue(c, ["a", "b"], { leaseSeconds: 600 });
    const s = await newSession(c, how === "expired" ? 2 : 300);
    const xid = newXid();
    await begin(s, xid);
    const ids = idsOf(await take(c, queue));
    await end(s.context.session ?? "");
    for (const [name, answer] of Object.entries(calls(s, queue, ids, xid))) {
      const { problem } = await answer;
      expect([name, problem?.code], problem?.detail).toEqual([name, "session-fenced"]);
    }
    expect(await bodiesOf(c, queue)).toEqual(["b"]);
    expectOutcomes(await c.accept(ids), ids, ["accepted"]);
  });

  it("an epoch that is yet to come is fenced too", async () => {
    const queue = await newQueue(c, ["a", "b"], { leaseSeconds: 600 });
    const s = await newSession(c);
    const xid = newXid();
    await begin(s, xid);
    const ids = idsOf(await take(c, queue));
    for (const [name, answer] of Object.entries(calls(s.with({ epoch: 2 }), queue, ids, xid))) {
      const { problem } = await answer;
      expect([name, problem?.code], problem?.detail).toEqual([name, "session-fenced"]);
    }
    expect(await stateOf(c, xid)).toBe("active");
  });

  it("a session that never was is 404", async () => {
    const queue = await newQueue(c, ["a", "b"], { leaseSeconds: 600 });
    const s = await newSession(c);
    const xid = newXid();
    await begin(s, xid);
    const ids = idsOf(await take(c, queue));
    const never = c.with({ session: unique("never"), epoch: 1 });
    for (const [name, answer] of Object.entries(calls(never, queue, ids, xid))) {
      const { problem } = await answer;
      // A keep-alive of it finds no session to keep, at whatever epoch.
      expect([name, problem?.code], problem?.detail).toEqual([name, "not-found"]);
    }
    expect(await bodiesOf(c, queue)).toEqual(["b"]);
  });

  it("a waiting acquire that is fenced while it waits takes nothing", async () => {
    const queue = await newQueue(c);
    const s = await newSession(c);
    const waiting = s.acquire(queue, { waitSeconds: 15 });
    await wait(300);
    await c.attach(s.context.session ?? "");
    expectRefused(await waiting, "session-fenced");
    await enqueueBodies(c, queue, ["a"]);
    expect(await countsOf(c, queue)).toEqual({ available: 1, leased: 0, held: 0 });
  });

  it("the newer epoch works on, and other sessions notice nothing", async () => {
    const queue = await newQueue(c);
    const [s, other] = [await newSession(c), await newSession(c)];
    const newer = await c.attached(s.context.session ?? "");
    expectRefused(await s.enqueue(queue, [{ body: "never" }]), "session-fenced");
    await enqueueBodies(newer, queue, ["newer"]);
    await enqueueBodies(other, queue, ["other"]);
    expect(await bodiesOf(c, queue)).toEqual(["newer", "other"]);
  });
});

describe.concurrent("leases of a session", () => {
  it.each(Object.entries(endings))(
    "end when it is %s: redelivered, and lost to whoever has their ids",
    async (how, end) => {
      const letters = await newQueue(c);
      const queue = await newQueue(c, ["a", "b", "c", "d"], { leaseSeconds: 600, deadLetterQueue: letters });
      const s = await newSession(c, how === "expired" ? 2 : 300);
      const [a, b] = (await take(s, queue, 2)) as [Delivery, Delivery];
      const free = idsOf(await take(c, queue));
      expect(await countsOf(c, queue)).toEqual({ available: 1, leased: 3, held: 0 });
      await end(s.context.session ?? "");
      expect(await countsOf(c, queue)).toEqual({ available: 3, leased: 1, held: 0 });
      expect(await bodiesOf(c, queue)).toEqual(["a", "b", "d"]);
      const ids = idsOf([a, b]);
      const lost = ["lease-lost", "lease-lost"];
      expectOutcomes(await c.accept(ids), ids, lost);
      expectOutcomes(await c.extend(ids, 60), ids, lost);
      expectOutcomes(await c.release(ids), ids, lost);
      expectOutcomes(await c.reject(ids), ids, lost);
      const again = await take(c, queue, 2);
      expect(again).toMatchObject([
        { body: "a", redelivered: true, deliveryCount: 2, sequence: a.sequence },
        { body: "b", redelivered: true, deliveryCount: 2, sequence: b.sequence },
      ]);
      expectOutcomes(await c.accept(free), free, ["accepted"]);
      expect(await availableOn(c, letters)).toEqual([0]);
    },
  );

  it("stay with a keep-alive", async () => {
    const queue = await newQueue(c, ["a"], { leaseSeconds: 600 });
    const s = await newSession(c, 3);
    const ids = idsOf(await take(s, queue));
    expectOk(await s.keepAlive(s.context.session ?? "", 600));
    await wait(3100);
    expect(await countsOf(c, queue)).toEqual({ available: 0, leased: 1, held: 0 });
    expectOutcomes(await s.accept(ids), ids, ["accepted"]);
  });

  it("end by their own deadline first, if that comes first", async () => {
    const queue = await newQueue(c, ["a"]);
    const s = await newSession(c);
    await take(s, queue, 1, 1);
    await wait(1100);
    expect(await bodiesOf(c, queue)).toEqual(["a"]);
  });

  it("do not come back to life when the session is attached again", async () => {
    const queue = await newQueue(c, ["a"], { leaseSeconds: 600 });
    const s = await newSession(c);
    const ids = idsOf(await take(s, queue));
    expectOk(await c.detach(s.context.session ?? ""), 204);
    const again = await c.attached(s.context.session ?? "");
    expectOutcomes(await again.accept(ids), ids, ["lease-lost"]);
    expect(await bodiesOf(c, queue)).toEqual(["a"]);
  });

  it("AS-9: ten taken, 1 to 3 and 5 to 10 accepted, detach: only the fourth comes back", async () => {
    const queue = await newQueue(
      c,
      Array.from({ length: 10 }, (_, i) => `${i + 1}`),
      { leaseSeconds: 600 },
    );
    const s = await newSession(c);
    const ids = idsOf(await take(s, queue, 10));
    await s.accept([...ids.slice(0, 3), ...ids.slice(4)]);
    expectOk(await c.detach(s.context.session ?? ""), 204);
    expect((await drain(c, queue)).map((delivery) => delivery.body)).toEqual(["4"]);
  });

  it("end for a consumer that waits", async () => {
    const queue = await newQueue(c, ["a"], { leaseSeconds: 600 });
    const s = await newSession(c);
    await take(s, queue);
    const waiting = c.acquire(queue, { waitSeconds: 15 });
    await wait(300);
    expectOk(await c.detach(s.context.session ?? ""), 204);
    expect(expectOk(await waiting).deliveries).toMatchObject([{ body: "a", redelivered: true }]);
  });

  it("settled through an extend by somebody else still end with the session that took them", async () => {
    const queue = await newQueue(c, ["a"], { leaseSeconds: 600 });
    const s = await newSession(c);
    const ids = idsOf(await take(s, queue));
    expectOutcomes(await c.extend(ids, 6000), ids, ["extended"]);
    expectOk(await c.detach(s.context.session ?? ""), 204);
    expectOutcomes(await c.accept(ids), ids, ["lease-lost"]);
  });
});
