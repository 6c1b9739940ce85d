import { beforeAll, describe, expect, it } from "vitest";
import type { Client } from "../support/client.ts";
import {
  type Applied,
  appliedOf,
  expectDelivered,
  expectOutcome,
  type Finish,
  finishBranch,
  type LargeBranch,
  largeBranch,
  SMALLEST_LARGE,
  stopAfter,
} from "../support/large-branch.ts";
import { expectOk, expectRefused, newSession, stateOf } from "../support/moves.ts";
import { useServiceBehindProxy } from "../support/service.ts";

const service = useServiceBehindProxy();

const opposite = { commit: "rollback", rollback: "commit" } as const;
const remembered = { commit: "committed", rollback: "rolled-back" } as const;

/** What can be seen when so many writes of the verb were made and the next one waits. */
interface Sight {
  readonly writes: number;
  readonly state: string;
  readonly applied: Applied;
}

/** By verb: the branch after each write, from none to all of them. */
const sights: Record<Finish, Sight[]> = { commit: [], rollback: [] };

beforeAll(async () => {
  for (const finish of ["commit", "rollback"] as const) sights[finish] = await watch(finish);
}, 120_000);

/** Lets the writes of the verb pass one by one and looks between them. */
async function watch(finish: Finish): Promise<Sight[]> {
  const { proxy } = service;
  const branch = await largeBranch(service.client, SMALLEST_LARGE);
  const seen: Sight[] = [];
  proxy.holdWritesAfter(0);
  let done = false;
  const finished = finishBranch(branch, finish).then(() => {
    done = true;
  });
  for (let writes = 0; !done; writes += 1) {
    await Promise.race([proxy.whenHeld(), finished]);
    seen.push({ writes, state: await stateOf(branch.c, branch.xid), applied: await appliedOf(branch, finish) });
    await proxy.step();
    await Promise.race([proxy.whenHeld(), finished]);
  }
  proxy.reset();
  seen.push({
    writes: seen.length,
    state: await stateOf(branch.c, branch.xid),
    applied: await appliedOf(branch, finish),
  });
  return seen;
}

/** The first moment at which the decision is recorded and applied on so much of the branch. */
function moment(finish: Finish, applied: Applied): Sight {
  const recorded = sights[finish].filter((sight) => sight.state === "deciding" || sight.state === remembered[finish]);
  const found = recorded.find((sight) => sight.applied === applied);
  if (found === undefined) throw new Error(`no such moment among ${JSON.stringify(sights[finish])}`);
  return found;
}

/** A large branch whose verb was stopped at that moment; the service still answers, but writes nothing. */
async function stoppedAt(finish: Finish, applied: Applied): Promise<LargeBranch> {
  const branch = await largeBranch(service.client, SMALLEST_LARGE);
  await stopAfter(service.proxy, moment(finish, applied).writes, () => branch.c[finish](branch.xid));
  expect(await appliedOf(branch, finish)).toBe(applied);
  return branch;
}

async function recoverEverything(c: Client): Promise<void> {
  let cursor: string | undefined;
  do cursor = expectOk(await c.recovery(cursor)).cursor;
  while (cursor !== undefined);
}

describe("a decision that was recorded and not applied everywhere", () => {
  it("is seen as deciding between the first and the last write", () => {
    for (const finish of ["commit", "rollback"] as const) {
      const states = sights[finish].map((sight) => sight.state);
      expect(states.filter((state, n) => state !== states[n - 1])).toEqual([
        "prepared",
        "deciding",
        remembered[finish],
      ]);
      const before = sights[finish].filter((sight) => sight.state === "prepared");
      expect(before.every((sight) => sight.applied === "none")).toBe(true);
    }
  });

  const rows = (["commit", "rollback"] as const).flatMap((finish, f) =>
    (["none", "some", "all"] as const).map((applied, a) => ({ id: `2PC-${14 + 3 * f + a}`, finish, applied })),
  );
  it.each(rows)(
    "$id: $finish, applied on $applied of the records, stopped, recovered",
    async ({ finish, applied }) => {
      const branch = await stoppedAt(finish, applied);
      const { c, xid } = branch;
      await service.restart();
      expect((await c.recover()).map((found) => found.xid)).not.toContain(xid);
      expectRefused(await c[opposite[finish]](xid), "illegal-state");
      await recoverEverything(c);
      expect(await stateOf(c, xid)).toBe(remembered[finish]);
      await expectOutcome(branch, finish);
      await recoverEverything(c);
      await Promise.all([recoverEverything(c), recoverEverything(c)]);
      expect(expectOk(await c[finish](xid))).toMatchObject({ xa: "XA_OK", remembered: true });
      expectRefused(await c[opposite[finish]](xid), "illegal-state");
      expect((await c.recover()).map((found) => found.xid)).not.toContain(xid);
      await expectDelivered(branch, finish);
    },
    120_000,
  );

  it.each(["commit", "rollback"] as const)(
    "the branch of a %s refuses everything but its own verb",
    async (finish) => {
      const other = await newSession(service.client);
      const branch = await stoppedAt(finish, "some");
      const { c, xid } = branch;
      await service.restart();
      const answers = [
        await c.prepare(xid),
        await c.forget(xid),
        await c.heuristic(xid, finish),
        await c[opposite[finish]](xid),
        await c.setTimeout(xid, 10),
        await other.end(xid),
      ];
      for (const answer of answers) expectRefused(answer, "illegal-state");
      expectRefused(await other.start(xid), "not-allowed");
      expect(await stateOf(c, xid)).toBe("deciding");
      await finishBranch(branch, finish);
      await expectDelivered(branch, finish);
    },
    120_000,
  );
});
