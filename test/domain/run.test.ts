import { describe, expect, it } from "vitest";
import { defaultSettings } from "../../shared/domain/queue.ts";
import {
  extend,
  type Hold,
  heldBy,
  hold,
  isLeaseInForce,
  judge,
  type Lease,
  lease,
  liveCount,
  messageIdOf,
  type Run,
  release,
  type Slot,
  type Standing,
  settle,
  sizeOf,
  slotAt,
  standingOf,
} from "../../shared/domain/run.ts";
import { here, xid } from "./branches.ts";

const nowMs = 1_000_000;
const later: Lease = { token: "t", expiresAtMs: nowMs + 1 };
const inSession: Lease = { ...later, session: here };
const available = (deliveries = 0, visibleAtMs = 0): Slot => ({ state: "available", deliveries, visibleAtMs });
const leased = (under: Lease, deliveries = 1): Slot => ({ state: "leased", deliveries, lease: under });
const held = (incarnation: string, deliveries = 1): Slot => ({ state: "held", deliveries, incarnation });
const settled: Slot = { state: "settled" };

const runOf = (slots: readonly Slot[], more: Partial<Run> = {}): Run => ({
  key: { name: "q", generation: "g", partition: 0, position: 7 },
  version: 3,
  createdAtMs: nowMs - 5000,
  messageIdBase: "base",
  slots,
  sizes: slots.map((_, i) => 10 * (i + 1)),
  overheadBytes: 5,
  expiries: slots.map(() => 0),
  dropAtMs: 0,
  holds: {},
  payload: { kind: "inline", bytes: new Uint8Array() },
  ...more,
});

const alive = () => true;
const dead = () => false;

describe("a lease", () => {
  it.each<[string, Lease, boolean, boolean]>([
    ["counts until its time", later, true, true],
    ["is over at its time", { ...later, expiresAtMs: nowMs }, true, false],
    ["of no session asks for none", later, false, true],
    ["of a living session counts", inSession, true, true],
    ["of a session that has ended is over", inSession, false, false],
    ["is over by time in a living session too", { ...inSession, expiresAtMs: nowMs }, true, false],
  ])("%s", (_, of, isAlive, isInForce) => {
    expect(isLeaseInForce(of, nowMs, () => isAlive)).toBe(isInForce);
  });

  it("asks for the very epoch that it was given to", () => {
    const asked: unknown[] = [];
    isLeaseInForce(inSession, nowMs, (ref) => asked.push(ref) > 0);
    expect(asked).toEqual([here]);
  });
});

describe("how a message stands", () => {
  const atMost2 = { ...defaultSettings, maxDeliveries: 2 };
  const expiring = { expiries: [nowMs] };
  const dropping = { dropAtMs: nowMs };
  it.each<[Standing, string, Slot, Partial<Run>, boolean]>([
    ["available", "when nobody has it", available(), {}, true],
    ["available", "when its delay is over", available(1, nowMs), {}, true],
    ["delayed", "until its delay is over", available(1, nowMs + 1), {}, true],
    ["leased", "under a lease in force", leased(later), {}, true],
    ["leased", "past its times, while it is leased", leased(later), { ...expiring, ...dropping }, true],
    ["available", "when its lease's session has ended", leased(inSession), {}, false],
    ["available", "when its lease is over, whatever delay it had", leased({ ...later, expiresAtMs: nowMs }), {}, true],
    ["held", "past its times, while it is held", held("i", 2), { ...expiring, ...dropping }, true],
    ["settled", "for good", settled, { ...expiring, ...dropping }, true],
    ["dropped", "at the end of the retention", available(), dropping, true],
    ["available", "before the end of the retention", available(), { dropAtMs: nowMs + 1 }, true],
    ["dropped", "at the end of the retention, expired or not", available(), { ...expiring, ...dropping }, true],
    ["expired", "at the end of its own time", available(), expiring, true],
    ["available", "before the end of its own time", available(), { expiries: [nowMs + 1] }, true],
    ["available", "without a time of its own", available(), { expiries: [] }, true],
    ["expired", "and exhausted: time comes first", available(2), expiring, true],
    ["exhausted", "delivered as often as its queue allows", available(2), {}, true],
    ["exhausted", "delivered more often than that", available(3), {}, true],
    ["exhausted", "and delayed: it is not delivered again", available(2, nowMs + 1), {}, true],
    ["exhausted", "when its last lease is over", leased({ ...later, expiresAtMs: nowMs }, 2), {}, true],
    ["available", "delivered once less than that", available(1), {}, true],
  ])("is %s: %s", (standing, _, slot, more, isAlive) => {
    expect(standingOf(runOf([slot], more), 0, atMost2, nowMs, () => isAlive)).toBe(standing);
  });

  it("is never exhausted on a queue that allows any number of deliveries", () => {
    expect(standingOf(runOf([available(1000)]), 0, defaultSettings, nowMs, alive)).toBe("available");
    expect(standingOf(runOf([available(0)]), 0, defaultSettings, nowMs, alive)).toBe("available");
  });
});

describe("whether a delivery may be settled", () => {
  it.each<[string, Slot | undefined, string | undefined, boolean, string]>([
    ["not at all when there is no such message", undefined, undefined, true, "not-found"],
    ["not again", settled, undefined, true, "not-found"],
    ["not when a branch holds it", held("i"), undefined, true, "locked"],
    ["not in another branch than the one that holds it", held("i"), "j", true, "locked"],
    ["again in the branch that holds it", held("i"), "i", true, "ok"],
    ["under its lease", leased(later), undefined, true, "ok"],
    ["under its lease, in a branch", leased(later), "i", true, "ok"],
    ["not under another lease", leased({ ...later, token: "u" }), undefined, true, "lease-lost"],
    ["not when the lease is over", leased({ ...later, expiresAtMs: nowMs }), undefined, true, "lease-lost"],
    ["not when the lease's session has ended", leased(inSession), undefined, false, "lease-lost"],
    ["not when it is nobody's", available(), undefined, true, "lease-lost"],
  ])("%s", (_, slot, incarnation, isAlive, outcome) => {
    expect(judge(slot, "t", incarnation, nowMs, () => isAlive)).toBe(outcome);
  });
});

describe("a change of a run", () => {
  const run = runOf([available(1, 5), leased(later, 2), held("i", 3), settled]);
  const by: Hold = { xid, deadlineMs: nowMs, session: here };
  const [first, , third, fourth] = run.slots;

  it("delivers under one lease, and counts the delivery", () => {
    expect(lease(run, [0, 1], inSession)).toEqual({
      ...run,
      version: 4,
      slots: [leased(inSession, 2), leased(inSession, 3), third, fourth],
    });
  });

  it("of a settled message counts from the beginning", () => {
    expect(slotAt(lease(run, [3], later), 3)).toEqual(leased(later, 1));
  });

  it("settles", () => {
    expect(settle(run, [1])).toEqual({ ...run, version: 4, slots: [first, settled, third, fourth] });
  });

  it("releases to the original position, with the deliveries that it had", () => {
    expect(release(run, [1, 2], 9)).toEqual({
      ...run,
      version: 4,
      slots: [first, available(2, 9), available(3, 9), fourth],
    });
  });

  it("extends leases, and nothing else", () => {
    expect(extend(run, [0, 1, 2, 3], nowMs + 9)).toEqual({
      ...run,
      version: 4,
      slots: [first, leased({ token: "t", expiresAtMs: nowMs + 9 }, 2), third, fourth],
    });
  });

  it("holds for a branch beside the holds that are there", () => {
    const before = { ...run, holds: { i: by } };
    expect(hold(before, [1], "j", by)).toEqual({
      ...run,
      version: 4,
      slots: [first, held("j", 2), third, fourth],
      holds: { i: by, j: by },
    });
  });

  it("leaves the run that it was made from as it was", () => {
    const before = structuredClone(run);
    settle(run, [0, 1, 2]);
    expect(run).toEqual(before);
  });

  it("fails on a message that the run does not have", () => {
    expect(() => settle(run, [4])).toThrow("run q has no message 4");
  });
});

describe("a run", () => {
  const run = runOf([available(), leased(later), held("i"), settled, held("j"), held("i")]);

  it("tells how many messages are left, and their sizes", () => {
    expect(liveCount(run)).toBe(5);
    expect(sizeOf(run, [1, 5])).toBe(80);
    expect(sizeOf(run, [1, 6])).toBe(20);
    expect(sizeOf(run, [])).toBe(0);
  });

  it("tells what a branch's incarnation holds", () => {
    expect(heldBy(run, "i")).toEqual([2, 5]);
    expect(heldBy(run, "k")).toEqual([]);
  });

  it("names a message by its base and its index", () => {
    expect(messageIdOf(run.messageIdBase, 3)).toBe("base-3");
  });

  it("is judged by the session of its own lease alone", () => {
    expect(standingOf(run, 1, defaultSettings, nowMs, dead)).toBe("leased");
  });
});
