import { describe, expect, it } from "vitest";
import {
  acceptAll,
  availableOn,
  begin,
  bodiesOf,
  countsOf,
  drain,
  expectOk,
  expectRefused,
  newQueue,
  newQueues,
  newSession,
  take,
} from "../support/moves.ts";
import { newXid } from "../support/names.ts";
import { expectOutcomes, idsOf } from "../support/outcomes.ts";
import { wait } from "../support/poll.ts";
import { useService } from "../support/service.ts";
import type { Delivery } from "../support/shapes.ts";

const service = useService();
const c = service.client;

const numbered = (count: number): string[] => Array.from({ length: count }, (_, i) => `m-${i}`);

const bodies = (deliveries: readonly Delivery[]): string[] => deliveries.map((delivery) => delivery.body);

const same = (count: number, status: string): string[] => Array.from({ length: count }, () => status);

/** Each settling verb, said of some deliveries. */
const verbs = {
  accepted: (ids: readonly string[]) => c.accept(ids),
  released: (ids: readonly string[]) => c.release(ids),
  rejected: (ids: readonly string[]) => c.reject(ids),
  extended: (ids: readonly string[]) => c.extend(ids, 60),
};
const everyVerb = Object.entries(verbs);

describe("accept", () => {
  it("removes for good, also over a restart and after the lease would have ended", async () => {
    const queue = await newQueue(c, ["a", "b", "c"], { leaseSeconds: 1 });
    const ids = idsOf(await take(c, queue, 2, 5));
    expectOutcomes(await c.accept(ids), ids, ["accepted", "accepted"]);
    expect(await countsOf(c, queue)).toEqual({ available: 1, leased: 0, held: 0 });
    await service.restart();
    await wait(1100);
    expect(bodies(await drain(c, queue))).toEqual(["c"]);
  });

  it("settles any of the messages of a call, in any order", async () => {
    const queue = await newQueue(c, numbered(150));
    const deliveries = await take(c, queue, 150, 2);
    const odd = deliveries.filter((_, i) => i % 2 === 1).toReversed();
    await acceptAll(c, odd);
    await wait(2100);
    expect(bodies(await take(c, queue, 500))).toEqual(numbered(150).filter((_, i) => i % 2 === 0));
  });
});

describe("outcomes", () => {
  it.each(everyVerb)("%s: one for each id, in the order given", async (status, verb) => {
    const queue = await newQueue(c, numbered(4));
    const ids = idsOf(await take(c, queue, 4)).toReversed();
    expectOutcomes(await verb(ids), ids, same(4, status));
  });

  it.each(everyVerb)("%s: an id repeated in the call has the same outcome again", async (status, verb) => {
    const queue = await newQueue(c, ["a", "b"]);
    const [a, b] = idsOf(await take(c, queue, 2)) as [string, string];
    expectOutcomes(await verb([a, b, a, a]), [a, b, a, a], same(4, status));
    expect((await c.stats(queue)).settled).toBe(status === "accepted" || status === "rejected" ? "2" : "0");
  });

  it.each(everyVerb)("%s: what was settled before is not-found", async (_status, verb) => {
    const queue = await newQueue(c, ["a", "b", "c"]);
    const [a, b, last] = idsOf(await take(c, queue, 3)) as [string, string, string];
    await c.accept([a]);
    await c.reject([b]);
    expectOutcomes(await verb([a, b]), [a, b], ["not-found", "not-found"]);
    await c.accept([last]);
    expectOutcomes(await verb([last]), [last], ["not-found"]);
  });

  it.each(everyVerb)("%s: a lease that ended is lost, nothing happens, and never silently", async (status, verb) => {
    const letters = await newQueue(c);
    const queue = await newQueue(c, ["a", "b"], { deadLetterQueue: letters });
    const lost = idsOf(await take(c, queue, 2, 1));
    await wait(1100);
    expectOutcomes(await verb(lost), lost, ["lease-lost", "lease-lost"]);
    const [again] = await take(c, queue, 1, 60);
    expect(again).toMatchObject({ body: "a", redelivered: true, deliveryCount: 2 });
    expectOutcomes(await verb(lost), lost, ["lease-lost", "lease-lost"]);
    expect(await availableOn(c, letters)).toEqual([0]);
    const ids = idsOf(again === undefined ? [] : [again]);
    expectOutcomes(await verb(ids), ids, [status]);
    expect(bodies(await take(c, queue))).toEqual([status === "released" ? "a" : "b"]);
  });

  it.each(everyVerb)("%s: what was released is lost to the one that released it", async (_status, verb) => {
    const queue = await newQueue(c, ["a"]);
    const ids = idsOf(await take(c, queue));
    await c.release(ids);
    expectOutcomes(await verb(ids), ids, ["lease-lost"]);
    expect(await countsOf(c, queue)).toEqual({ available: 1, leased: 0, held: 0 });
  });

  it.each(everyVerb)("%s: what a branch holds is locked, and stays so", async (_status, verb) => {
    const s = await newSession(c);
    const queue = await newQueue(c, ["a", "b"]);
    const [a, b] = await take(c, queue, 2);
    const ids = idsOf([a, b] as Delivery[]);
    const xid = newXid();
    await acceptAll(await begin(s, xid), [a as Delivery]);
    expectOutcomes(await verb(ids), ids, ["locked", everyVerb.find(([, other]) => other === verb)?.[0] ?? ""]);
    expect(await countsOf(c, queue)).toMatchObject({ held: 1 });
  });

  it("locked in another branch, accepted again in the same one", async () => {
    const s = await newSession(c);
    const queue = await newQueue(c, ["a"]);
    const [one, other] = [await begin(s, newXid()), await begin(s, newXid())];
    const ids = idsOf(await take(c, queue));
    expectOutcomes(await one.accept(ids), ids, ["accepted"]);
    expectOutcomes(await other.accept(ids), ids, ["locked"]);
    expectOutcomes(await one.accept([...ids, ...ids]), [...ids, ...ids], ["accepted", "accepted"]);
    expect(await countsOf(c, queue)).toEqual({ available: 0, leased: 0, held: 1 });
  });

  it("a lost lease is lost in a branch too", async () => {
    const s = await newSession(c);
    const queue = await newQueue(c, ["a", "b"]);
    const branch = await begin(s, newXid());
    const lost = idsOf(await take(c, queue, 1, 1));
    const kept = idsOf(await take(c, queue, 1, 60));
    await wait(1100);
    expectOutcomes(await branch.accept([...lost, ...kept]), [...lost, ...kept], ["lease-lost", "accepted"]);
    expect(await bodiesOf(c, queue)).toEqual(["a"]);
  });

  it("release, reject and extend in a branch are refused, and do nothing", async () => {
    const s = await newSession(c);
    const queue = await newQueue(c, ["a"]);
    const ids = idsOf(await take(c, queue));
    const branch = await begin(s, newXid());
    expectRefused(await branch.release(ids), "command-invalid");
    expectRefused(await branch.reject(ids), "command-invalid");
    expectRefused(await branch.extend(ids, 60), "command-invalid");
    expectOutcomes(await c.accept(ids), ids, ["accepted"]);
  });
});

describe("one call", () => {
  it("settles deliveries of many queues, each decided on its own", async () => {
    const queues = await newQueues(c, 12);
    await Promise.all(
      queues.map((queue) =>
        c.enqueue(
          queue,
          numbered(3).map((body) => ({ body })),
        ),
      ),
    );
    const deliveries = (await Promise.all(queues.map((queue) => take(c, queue, 3)))).flat();
    const settled = deliveries.filter((_, i) => i % 5 === 0);
    await acceptAll(c, settled);
    const mixed = [...deliveries.filter((_, i) => i % 2 === 0), ...deliveries.filter((_, i) => i % 2 === 1)];
    const statuses = mixed.map((delivery) => (settled.includes(delivery) ? "not-found" : "accepted"));
    expectOutcomes(await c.accept(idsOf(mixed)), idsOf(mixed), statuses);
    for (const queue of queues) expect(await countsOf(c, queue)).toEqual({ available: 0, leased: 0, held: 0 });
  });

  it("settles 500 deliveries, and refuses 501 and none", async () => {
    const queue = await newQueue(c, numbered(501));
    const ids = idsOf([...(await take(c, queue, 500, 300)), ...(await take(c, queue, 1, 300))]);
    expectRefused(await c.accept(ids), "invalid-argument");
    expectRefused(await c.accept([]), "invalid-argument");
    expect(await countsOf(c, queue)).toMatchObject({ leased: 501 });
    expectOutcomes(await c.accept(ids.slice(0, 500)), ids.slice(0, 500), same(500, "accepted"));
    expect(await countsOf(c, queue)).toMatchObject({ leased: 1 });
  });

  it("of a deleted queue finds nothing, of the others all", async () => {
    const [gone, kept] = [await newQueue(c, ["a"]), await newQueue(c, ["b"])];
    const ids = idsOf([...(await take(c, gone)), ...(await take(c, kept))]);
    expectOk(await c.deleteQueue(gone), 204);
    expectOutcomes(await c.accept(ids), ids, ["not-found", "accepted"]);
  });
});

describe("who may settle", () => {
  it("whoever has the id: another session, or none", async () => {
    const [s1, s2] = [await newSession(c), await newSession(c)];
    const queue = await newQueue(c, numbered(4));
    const [a, b, d, e] = idsOf(await take(s1, queue, 4)) as [string, string, string, string];
    expectOutcomes(await s2.accept([a]), [a], ["accepted"]);
    expectOutcomes(await c.accept([b]), [b], ["accepted"]);
    expectOutcomes(await s2.extend([d], 100), [d], ["extended"]);
    expectOutcomes(await c.release([e]), [e], ["released"]);
    const free = idsOf(await take(c, queue));
    expectOutcomes(await s1.reject([...free, d]), [...free, d], ["rejected", "rejected"]);
  });

  it("two that accept at once: the message is gone once, and nobody is told a lie", async () => {
    const queue = await newQueue(c, numbered(40));
    const ids = idsOf(await take(c, queue, 40));
    const twice = await Promise.all([c.accept(ids), c.accept(ids)]);
    const statuses = twice.map((answer) => expectOk(answer).outcomes.map((outcome) => outcome.status));
    for (const i of ids.keys()) {
      const both = [statuses[0]?.[i], statuses[1]?.[i]];
      expect(both).toContain("accepted");
      expect(["accepted", "not-found"]).toContain(both.find((status) => status !== "accepted") ?? "accepted");
    }
    expect(await c.stats(queue)).toMatchObject({ available: "0", leased: "0" });
    expect(await drain(c, queue)).toEqual([]);
  });

  it("accept and release at once: one of them, and the message is where that one says", async () => {
    const queue = await newQueue(c, numbered(30));
    const ids = idsOf(await take(c, queue, 30));
    const [accepted, released] = await Promise.all([c.accept(ids), c.release(ids)]);
    const outcomes = ids.map((_, i) => [
      expectOk(accepted).outcomes[i]?.status,
      expectOk(released).outcomes[i]?.status,
    ]);
    for (const both of outcomes) {
      expect([
        ["accepted", "not-found"],
        ["lease-lost", "released"],
      ]).toContainEqual(both);
    }
    const back = outcomes.flatMap(([, status], i) => (status === "released" ? [`m-${i}`] : []));
    expect(await bodiesOf(c, queue)).toEqual(back);
  });
});
