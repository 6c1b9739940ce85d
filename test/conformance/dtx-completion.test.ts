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
} from "../support/moves.ts";
import { newXid } from "../support/names.ts";
import { useService } from "../support/service.ts";

const service = useService();

type Verb = (c: Client, xid: string) => ReturnType<Client["commit"]>;
const onePhase: Verb = (c, xid) => c.commit(xid, { onePhase: true });
const commit: Verb = (c, xid) => c.commit(xid);
const rollback: Verb = (c, xid) => c.rollback(xid);

/** A branch that publishes "new" and takes "old", ended and, if asked, prepared. */
async function work(prepared: boolean) {
  const s = await newSession(service.client);
  const queue = await newQueue(s, ["old"]);
  const xid = newXid();
  const inBranch = await begin(s, xid);
  await consume(inBranch, queue);
  await enqueueBodies(inBranch, queue, ["new"]);
  if (prepared) await endAndPrepare(s, xid);
  else expectXa(await s.end(xid), "XA_OK");
  return { s, queue, xid };
}

describe("a completion that answered XA_OK", () => {
  const completions = [
    ["commit onePhase", false, onePhase, rollback, "committed", ["new"]],
    ["commit twoPhase", true, commit, rollback, "committed", ["new"]],
    ["rollback", false, rollback, commit, "rolled-back", ["old"]],
    ["rollback after prepare", true, rollback, commit, "rolled-back", ["old"]],
  ] as const;

  it.each(completions)(
    "%s may be repeated; the opposite is 409 and names the outcome",
    async (_n, prepared, verb, opposite, outcome, bodies) => {
      const { s, queue, xid } = await work(prepared);
      const first = expectOk(await verb(s, xid));
      expect(first.xa).toBe("XA_OK");
      expect(first.remembered ?? false).toBe(false);
      for (let times = 0; times < 2; times += 1) {
        expect(expectOk(await verb(s, xid))).toMatchObject({ xa: "XA_OK", remembered: true });
        const refused = await opposite(s, xid);
        expectRefused(refused, "illegal-state");
        expect(refused.problem?.detail).toMatch(outcome === "committed" ? /committed/ : /rolled[- ]back/);
      }
      expect(await stateOf(s, xid)).toBe(outcome);
      expect(await bodiesOf(s, queue)).toEqual(bodies);
      for (const answer of [await s.prepare(xid), await s.forget(xid), await s.setTimeout(xid, 10)])
        expectRefused(answer, "not-found");
    },
  );

  it.each(completions)("%s is forgotten when the xid starts anew", async (_name, prepared, verb) => {
    const { s, xid } = await work(prepared);
    expectXa(await verb(s, xid), "XA_OK");
    await begin(s, xid);
    expect(await stateOf(s, xid)).toBe("active");
    expectRefused(await verb(s, xid), "illegal-state");
    expectXa(await s.end(xid), "XA_OK");
    const [other, outcome] =
      verb === rollback ? ([onePhase, "committed"] as const) : ([rollback, "rolled-back"] as const);
    expectXa(await other(s, xid), "XA_OK");
    expect(await stateOf(s, xid)).toBe(outcome);
  });

  it("is remembered over a kill of all processes", async () => {
    const { s, queue, xid } = await work(true);
    expectXa(await s.commit(xid), "XA_OK");
    await service.restart();
    expect(expectOk(await s.commit(xid))).toMatchObject({ xa: "XA_OK", remembered: true });
    expect(await bodiesOf(s, queue)).toEqual(["new"]);
  });

  it("repeated at the same time is applied once", async () => {
    const { s, queue, xid } = await work(true);
    const answers = await Promise.all(Array.from({ length: 5 }, () => s.commit(xid)));
    for (const answer of answers) expectXa(answer, "XA_OK");
    expect(await bodiesOf(s, queue)).toEqual(["new"]);
  });

  it("commit and rollback at the same time have one outcome", async () => {
    const { s, queue, xid } = await work(true);
    const [committed, rolledBack] = await Promise.all([s.commit(xid), s.rollback(xid)]);
    const outcome = await stateOf(s, xid);
    expectXa(outcome === "committed" ? committed : rolledBack, "XA_OK");
    expectRefused(outcome === "committed" ? rolledBack : committed, "illegal-state");
    expect(await bodiesOf(s, queue)).toEqual(outcome === "committed" ? ["new"] : ["old"]);
  });
});

describe("after RBROLLBACK", () => {
  it.each([
    ["commit onePhase", onePhase],
    ["commit twoPhase", commit],
  ] as const)(
    "from %s the verbs answer 404, the branch tells a rollback, and the xid can be started",
    async (_name, verb) => {
      const s = await newSession(service.client);
      const queue = await newQueue(s, ["old"]);
      const xid = newXid();
      await consume(await begin(s, xid), queue);
      expectXa(await s.end(xid, { fail: true }), "XA_RBROLLBACK");
      expectXa(await verb(s, xid), "XA_RBROLLBACK");
      expect(await bodiesOf(s, queue)).toEqual(["old"]);
      for (const again of [onePhase, commit, rollback]) expectRefused(await again(s, xid), "not-found");
      expect(await stateOf(s, xid)).toBe("rolled-back");
      await begin(s, xid);
    },
  );

  it("from prepare the branch stays until it is rolled back", async () => {
    const { s, queue, xid } = await work(false);
    expectXa(await s.start(xid, { join: true }), "XA_OK");
    expectXa(await s.end(xid, { fail: true }), "XA_RBROLLBACK");
    for (let times = 0; times < 2; times += 1) expectXa(await s.prepare(xid), "XA_RBROLLBACK");
    expect(await stateOf(s, xid)).toBe("rollback-only");
    expectXa(await s.rollback(xid), "XA_OK");
    expect(await bodiesOf(s, queue)).toEqual(["old"]);
    expect(expectOk(await s.rollback(xid))).toMatchObject({ xa: "XA_OK", remembered: true });
  });
});
