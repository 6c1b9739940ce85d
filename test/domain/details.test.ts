/** What callers are told with a refusal: of whom or what, and why. */
import { describe, expect, it } from "vitest";
import { SESSIONS_PER_BRANCH } from "../../shared/domain/limits.ts";
import { isRefusal, type Refusal } from "../../shared/domain/refusal.ts";
import { attach, close, fence } from "../../shared/domain/session.ts";
import {
  commit,
  decide,
  end,
  endFlags,
  forget,
  join,
  mayWork,
  prepare,
  resume,
  rollback,
  setTimeout,
  startFlags,
  startKnown,
  unknownBranch,
  type Verdict,
} from "../../shared/domain/verb.ts";
import { branchIn, here, nowMs, stranger, xid } from "./branches.ts";

const detailOf = (told: Verdict | Refusal | undefined): string =>
  told !== undefined && isRefusal(told) ? told.detail : "not refused";

const attached = attach(undefined, "s", 300, nowMs);
const at = { name: "s", epoch: 1 };
const crowded = {
  ...branchIn("active"),
  workers: Array.from({ length: SESSIONS_PER_BRANCH }, (_, i) => ({ name: `s${i}`, epoch: 1 })),
};
const almostCrowded = { ...crowded, workers: crowded.workers.slice(1) };
const plain = { suspend: false, fail: false };

describe("a refusal says", () => {
  it.each<[string, () => Verdict | Refusal | undefined]>([
    ["session s does not exist", () => fence(undefined, at, nowMs)],
    ["epoch 2 is not the current one of session s", () => fence(attached, { ...at, epoch: 2 }, nowMs)],
    ["session s has been detached: attach again", () => fence(close(attached, nowMs), at, nowMs)],
    ["session s has expired: attach again", () => fence(attached, at, attached.expiresAtMs)],
    [
      "session s has expired: attach again",
      () => fence(close(attached, attached.expiresAtMs), at, attached.expiresAtMs),
    ],
    [`branch ${xid} does not exist`, () => unknownBranch(xid)],
    [`branch ${xid} exists and is idle`, () => startKnown(branchIn("idle"))],
    ["join and resume exclude each other", () => startFlags(true, true)],
    ["suspend and fail exclude each other", () => endFlags(true, true)],
    [`session here is already associated with branch ${xid}`, () => join(branchIn("active"), here)],
    [`join does not fit branch ${xid}, which is prepared`, () => join(branchIn("prepared"), here)],
    ["at most 50 sessions may work in one branch", () => join(crowded, stranger)],
    ["not refused", () => join(almostCrowded, stranger)],
    [`session stranger has suspended nothing in branch ${xid}`, () => resume(branchIn("suspended"), stranger)],
    [`session stranger is not associated with branch ${xid}`, () => end(branchIn("active"), xid, stranger, plain)],
    [
      `end with suspend does not fit branch ${xid}, which is suspended`,
      () => end(branchIn("suspended"), xid, here, { suspend: true, fail: false }),
    ],
    [`branch ${xid} is still associated with session here`, () => prepare(branchIn("active"), nowMs)],
    [`prepare does not fit branch ${xid}, which is prepared`, () => prepare(branchIn("prepared"), nowMs)],
    [`a two-phase commit does not fit branch ${xid}, which is idle`, () => commit(branchIn("idle"), false)],
    [`a one-phase commit does not fit branch ${xid}, which is prepared`, () => commit(branchIn("prepared"), true)],
    [`commit does not fit branch ${xid}, which is deciding`, () => commit(branchIn("deciding to roll back"), false)],
    [`rollback does not fit branch ${xid}, which is deciding`, () => rollback(branchIn("deciding to commit"))],
    [`forget does not fit branch ${xid}, which is active`, () => forget(branchIn("active"))],
    [
      `a heuristic decision does not fit branch ${xid}, which is heuristically-committed`,
      () => decide(branchIn("heuristically-committed"), "commit", "because"),
    ],
    [
      `setting a timeout does not fit branch ${xid}, which is heuristically-rolled-back`,
      () => setTimeout(branchIn("heuristically-rolled-back"), 60, nowMs),
    ],
    [`session here is not actively associated with branch ${xid}`, () => mayWork(branchIn("suspended"), xid, here)],
    [`session stranger is not actively associated with branch ${xid}`, () => mayWork(undefined, xid, stranger)],
    [
      `a message call does not fit branch ${xid}, which is rollback-only`,
      () => mayWork(branchIn("rollback-only, active here"), xid, here),
    ],
  ])("%s", (detail, told) => {
    expect(detailOf(told())).toBe(detail);
  });
});

/** A session is who it is by its name and its epoch. */
describe.each([
  ["another epoch of the session", { ...here, epoch: here.epoch + 1 }],
  ["another session at the same epoch", { ...here, name: "elsewhere" }],
])("%s", (_, by) => {
  it("is not in the branch", () => {
    expect(isRefusal(end(branchIn("active"), xid, by, plain))).toBe(true);
    expect(mayWork(branchIn("active"), xid, by)?.refusal).toBe("illegal-state");
    expect(mayWork(branchIn("active"), xid, here)).toBeUndefined();
  });

  it("joins as one that has not worked in it", () => {
    const branch = branchIn("active");
    expect(join(branch, by)).toMatchObject({ xa: "XA_OK", branch: { workers: [...branch.workers, by] } });
  });
});

describe("what a verb makes of a branch", () => {
  it("counts nobody twice: who has worked in it, joins as the same", () => {
    const branch = branchIn("idle");
    expect(join(branch, here)).toMatchObject({ branch: { workers: branch.workers } });
  });

  it("refuses one session too many by what it is", () => {
    expect(join(crowded, stranger)).toMatchObject({ refusal: "resource-limit-exceeded" });
  });

  it.each(["prepared", "deciding to commit", "heuristically-committed"] as const)(
    "ends nothing once it is %s, associated or not",
    (situation) => {
      const branch = { ...branchIn(situation), associations: [{ ...here, isSuspended: false }] };
      expect(detailOf(end(branch, xid, here, plain))).toMatch(/^end does not fit branch .*, which is /);
    },
  );

  it("is an operator's to keep, however it goes on", () => {
    const kept = { effect: "complete", leaves: "heuristic" };
    expect(decide(branchIn("prepared"), "rollback", "because")).toMatchObject({ ...kept, outcome: "rollback" });
    expect(decide(branchIn("deciding, an operator's commit"), "commit", "because")).toMatchObject({
      ...kept,
      outcome: "commit",
    });
  });

  it.each(["active", "rollback-only", "prepared", "timed-out"] as const)(
    "takes a timeout as OK when %s",
    (situation) => {
      expect(setTimeout(branchIn(situation), 200, nowMs)).toMatchObject({ xa: "XA_OK" });
    },
  );
});

describe("what is remembered of a branch's end says", () => {
  const reasonOf = (verdict: Verdict): string => ("reason" in verdict ? verdict.reason : "no reason");

  it.each<[string, () => Verdict]>([
    ["timed out", () => prepare(branchIn("timed-out"), nowMs)],
    ["timed out", () => commit(branchIn("timed-out"), true)],
    ["timed out", () => rollback(branchIn("timed-out"))],
    ["one-phase commit", () => commit(branchIn("idle"), true)],
    ["commit", () => commit(branchIn("prepared"), false)],
    ["rollback", () => rollback(branchIn("idle"))],
    ["rollback", () => rollback(branchIn("prepared"))],
    ["for the test", () => commit(branchIn("rollback-only"), true)],
    ["for the test", () => rollback(branchIn("rollback-only"))],
    ["for the test", () => commit(branchIn("deciding to commit"), false)],
    ["for the test", () => rollback(branchIn("deciding to roll back"))],
    ["the operator's", () => decide(branchIn("prepared"), "commit", "the operator's")],
    ["for the test", () => decide(branchIn("deciding, an operator's commit"), "commit", "another one")],
  ])("%s", (reason, verdict) => {
    expect(reasonOf(verdict())).toBe(reason);
  });

  it("who failed it", () => {
    const failed = end(branchIn("active"), xid, here, { suspend: false, fail: true });
    expect(failed).toMatchObject({ branch: { state: { reason: "session here ended it as failed" } } });
  });
});
