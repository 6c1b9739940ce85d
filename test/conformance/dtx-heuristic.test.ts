import { beforeAll, describe, expect, it } from "vitest";
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

const rows = [
  ["X-10", "commit", "commit"],
  ["X-11", "commit", "rollback"],
  ["X-12", "commit", "forget"],
  ["X-13", "rollback", "commit"],
  ["X-14", "rollback", "rollback"],
  ["X-15", "rollback", "forget"],
] as const;

/** A prepared swap that an operator has decided; the effect is there at once. */
async function decided(outcome: Outcome): Promise<Swapped> {
  const branch = await swapped(service.client);
  const { state, available } = outcomes[outcome];
  await endAndPrepare(branch.s1, branch.xid);
  const reason = "the transaction manager is gone";
  expect(expectOk(await branch.c.heuristic(branch.xid, outcome, reason))).toMatchObject({ state });
  expect(await availableOn(branch.c, branch.a, branch.b)).toEqual(available);
  return branch;
}

/** By row: decided, and then all processes were killed once for all of them; each row tells its own failure. */
let branches: PromiseSettledResult<Swapped>[] = [];

beforeAll(async () => {
  branches = await Promise.allSettled(rows.map(([, outcome]) => decided(outcome)));
  await service.restart();
});

function branchOf(id: string): Swapped {
  const branch = branches[rows.findIndex(([row]) => row === id)];
  if (branch?.status !== "fulfilled") throw branch?.reason;
  return branch.value;
}

/** The branch still tells the operator's decision and is listed with it. */
async function expectKept(c: Client, xid: string, state: string): Promise<void> {
  expect(await stateOf(c, xid)).toBe(state);
  expect((await c.recover()).find((found) => found.xid === xid)).toMatchObject({ state });
}

describe("a branch decided by an operator", () => {
  it.each(rows)("%s: heuristic %s, restart, then %s", async (id, outcome, verb) => {
    const branch = branchOf(id);
    const { c, s1, xid } = branch;
    const { xa, state, expectEffect } = outcomes[outcome];
    await expectKept(c, xid, state);
    if (verb !== "forget") {
      for (let times = 0; times < 2; times += 1) expectXa(await c[verb](xid), xa);
      await service.restart();
      expectXa(await c[verb](xid), xa);
      await expectKept(c, xid, state);
    }
    expectOk(await c.forget(xid), 204);
    if (verb === "forget") await service.restart();
    expect((await c.recover()).map((found) => found.xid)).not.toContain(xid);
    for (const late of [c.commit, c.rollback, c.prepare, c.forget]) expectRefused(await late(xid), "not-found");
    await expectEffect(branch);
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
