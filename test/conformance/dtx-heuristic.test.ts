import { describe, expect, it } from "vitest";
import type { Client } from "../support/client.ts";
import { availableOn, endAndPrepare, expectOk, expectRefused, expectXa, stateOf } from "../support/moves.ts";
import { useService } from "../support/service.ts";
import { expectBack, expectMoved, type Swapped, swapped } from "../support/swapped.ts";

const service = useService();

const outcomes = {
  commit: { state: "heuristically-committed", xa: "XA_HEURCOM", available: [0, 1], expectEffect: expectMoved },
  rollback: { state: "heuristically-rolled-back", xa: "XA_HEURRB", available: [1, 0], expectEffect: expectBack },
} as const;

type Outcome = keyof typeof outcomes;

/** A prepared swap that an operator has decided, and after that a restart; the effect was there at once. */
async function decided(outcome: Outcome): Promise<Swapped> {
  const branch = await swapped(service.client);
  const { state, available } = outcomes[outcome];
  await endAndPrepare(branch.s1, branch.xid);
  const reason = "the transaction manager is gone";
  expect(expectOk(await branch.c.heuristic(branch.xid, outcome, reason))).toMatchObject({ state });
  expect(await availableOn(branch.c, branch.a, branch.b)).toEqual(available);
  await service.restart();
  return branch;
}

/** The branch still tells the operator's decision and is listed with it. */
async function expectKept(c: Client, xid: string, state: string): Promise<void> {
  expect(await stateOf(c, xid)).toBe(state);
  expect((await c.recover()).find((found) => found.xid === xid)).toMatchObject({ state });
}

describe("a branch decided by an operator", () => {
  const verbs = [
    ["X-10", "commit", "commit"],
    ["X-11", "commit", "rollback"],
    ["X-13", "rollback", "commit"],
    ["X-14", "rollback", "rollback"],
  ] as const;
  it.each(verbs)("%s: heuristic %s, then %s", async (_id, outcome, verb) => {
    const branch = await decided(outcome);
    const { c, xid } = branch;
    const { xa, state, expectEffect } = outcomes[outcome];
    await expectKept(c, xid, state);
    for (let times = 0; times < 2; times += 1) expectXa(await c[verb](xid), xa);
    await service.restart();
    expectXa(await c[verb](xid), xa);
    await expectKept(c, xid, state);
    await expectEffect(branch);
    expectOk(await c.forget(xid), 204);
  });

  it.each([
    ["X-12", "commit"],
    ["X-15", "rollback"],
  ] as const)("%s: heuristic %s, then forget", async (_id, outcome) => {
    const branch = await decided(outcome);
    const { c, s1, xid } = branch;
    await expectKept(c, xid, outcomes[outcome].state);
    expectOk(await c.forget(xid), 204);
    await service.restart();
    expect((await c.recover()).map((found) => found.xid)).not.toContain(xid);
    for (const verb of [c.commit, c.rollback, c.prepare, c.forget]) expectRefused(await verb(xid), "not-found");
    await outcomes[outcome].expectEffect(branch);
    expectXa(await s1.start(xid), "XA_OK");
  });

  it("needs a known outcome", async () => {
    const branch = await swapped(service.client);
    await endAndPrepare(branch.s1, branch.xid);
    const answer = await branch.c.call("POST", `/dtx/${branch.xid}/heuristic`, { body: { outcome: "mixed" } });
    expectRefused(answer, "invalid-argument");
    expect(await stateOf(branch.c, branch.xid)).toBe("prepared");
    expectXa(await branch.c.rollback(branch.xid), "XA_OK");
  });
});
