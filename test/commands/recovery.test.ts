import { describe, expect, it } from "vitest";
import type { Place } from "../../shared/commands/dtx/branch-items.ts";
import { commitBranch } from "../../shared/commands/dtx/commit.ts";
import { getBranch } from "../../shared/commands/dtx/get.ts";
import { listPrepared } from "../../shared/commands/dtx/list.ts";
import { rollbackBranch } from "../../shared/commands/dtx/rollback.ts";
import { deleteQueue } from "../../shared/commands/queues/delete.ts";
import { recoverAll, recoverPage } from "../../shared/commands/recovery/recover.ts";
import { recoverSession } from "../../shared/commands/recovery/recover-session.ts";
import type { Recovery } from "../../shared/commands/recovery/report.ts";
import { attachSession } from "../../shared/commands/sessions/attach.ts";
import { loadSession } from "../../shared/commands/sessions/liveness.ts";
import { stateNameOf } from "../../shared/domain/branch.ts";
import { IN_DOUBT_PER_ANSWER } from "../../shared/domain/limits.ts";
import type { Xid } from "../../shared/domain/xid.ts";
import { branchKey, payloadKey, runKey } from "../../shared/records/keys.ts";
import type { Key } from "../../shared/records/write.ts";
import { accepted, answered, attachedSession, ended, enlisted, prepared, started } from "../support/branches.ts";
import { bodiesOn, counts, declared, put, take } from "../support/messages.ts";
import { type TestCall, useTable } from "../support/table.ts";

const table = useTable();

/** Every page of the recovery of the whole store. */
const wholeRecovery = async (): Promise<readonly Recovery[]> => {
  const pages: Recovery[] = [];
  let from: Place | undefined;
  do {
    const page = await recoverPage(table.call(), from);
    pages.push(page);
    from = page.next;
  } while (from !== undefined);
  return pages;
};

const inDoubtIn = (pages: readonly Recovery[], xid: Xid) =>
  pages.flatMap(({ inDoubt }) => inDoubt).filter((branch) => branch.xid === xid);

const stateOf = async (call: TestCall, xid: Xid) => {
  const view = answered(await getBranch(call, xid));
  return "branch" in view ? stateNameOf(view.branch) : view.outcome.outcome;
};

/** Makes a record one that nobody can read. */
const breakRecord = async (call: TestCall, key: Key, attribute: string) => {
  const change = { set: [[[attribute], "broken"]] as const };
  await call.store.commit([{ kind: "update", key, change, require: [], otherwise: "reload" }]);
};

const remove = async (call: TestCall, key: Key) => {
  await call.store.commit([{ kind: "delete", key, require: [], otherwise: "reload" }]);
};

describe("recovery of the whole store", () => {
  it("replays the mappings of what is in doubt, decides nothing, and twice is once", async () => {
    const call = table.call();
    const from = await declared(call, { partitions: 3 });
    const to = await declared(call);
    const session = await attachedSession(call);
    const run = await put(call, from, ["a", "b", "c"], 2);
    const xid = await started(call, session);
    const [, second, third] = await take(call, run);
    if (second === undefined || third === undefined) throw new Error("three were taken");
    await accepted(call, session, xid, [second, third]);
    const ids = await enlisted(call, session, xid, to.name, ["x", "y".repeat(3000)]);
    await prepared(call, session, xid);
    for (const pages of [await wholeRecovery(), await wholeRecovery()]) {
      expect(inDoubtIn(pages, xid)).toMatchObject([
        {
          enqueues: ids.map((messageId) => ({ queue: to.name, messageId })),
          dequeues: [
            { queue: from.name, messageId: `${run.messageIdBase}-1`, sequence: "5" },
            { queue: from.name, messageId: `${run.messageIdBase}-2`, sequence: "8" },
          ],
          more: false,
        },
      ]);
    }
    expect(await stateOf(call, xid)).toBe("prepared");
    answered(await commitBranch(call, xid, undefined, false));
    expect(inDoubtIn(await wholeRecovery(), xid)).toEqual([]);
  });

  it("undoes what a dead session or a passed deadline left, and closes the session first", async () => {
    const call = table.call();
    const queue = await declared(call);
    const [dying, living] = [await attachedSession(call, 10), await attachedSession(call, 300)];
    const [orphan, late, alive] = [
      await started(call, dying, 60),
      await started(call, living, 10),
      await started(call, living, 60),
    ];
    await accepted(call, dying, orphan, await take(call, await put(call, queue, ["a"])));
    await accepted(call, living, late, await take(call, await put(call, queue, ["b"])));
    await accepted(call, living, alive, await take(call, await put(call, queue, ["c"])));
    await ended(call, dying, orphan);
    table.wait(10_000);
    const { rolledBack } = await recoverAll(table.call());
    expect(rolledBack).toBeGreaterThanOrEqual(2);
    expect((await loadSession(call, dying.name))?.state).toBe("expired");
    expect(await counts(call, queue)).toMatchObject({ available: 2, held: 1 });
    expect([await stateOf(call, orphan), await stateOf(call, late), await stateOf(call, alive)]).toEqual([
      "rollback-only",
      "timed-out",
      "active",
    ]);
    expect((await recoverAll(table.call())).rolledBack).toBe(0);
  });

  it("tells what cannot be read by its xid, and does the rest", async () => {
    const call = table.call();
    const queue = await declared(call);
    const session = await attachedSession(call);
    const [branchless, runless, bodiless, good] = [
      await started(call, session),
      await started(call, session),
      await started(call, session),
      await started(call, session),
    ];
    const run = await put(call, queue, ["a"]);
    await accepted(call, session, runless, await take(call, run));
    await enlisted(call, session, bodiless, queue.name, ["b".repeat(5000)]);
    for (const xid of [branchless, runless, bodiless, good]) await prepared(call, session, xid);
    await breakRecord(call, branchKey(branchless), "wk");
    await breakRecord(call, runKey(run.key), "s");
    const view = answered(await getBranch(call, bodiless));
    const [add] = "branch" in view ? view.operations : [];
    if (add?.kind !== "add" || add.payload.kind !== "chunks") throw new Error("a large body lies apart");
    await remove(call, payloadKey(add.payload.owner, 0));
    const pages = await wholeRecovery();
    const unreadable = pages.flatMap((page) => page.unreadable);
    expect(unreadable.sort()).toEqual([branchless, runless, bodiless].sort());
    expect(inDoubtIn(pages, good)).toHaveLength(1);
    const ofSession = await recoverSession(table.call(), session.name);
    expect([...ofSession.unreadable].sort()).toEqual([branchless, runless, bodiless].sort());
    expect(ofSession.inDoubt.map(({ xid }) => xid)).toEqual([good]);
    const { branches, unreadable: unlisted } = await listPrepared(table.call(), 500);
    expect(unlisted).toEqual([branchless]);
    expect(branches.map(({ xid }) => xid)).toEqual(expect.arrayContaining([runless, bodiless, good]));
    await remove(call, branchKey(branchless));
    for (const xid of [runless, bodiless]) await remove(call, branchKey(xid));
  });

  it("goes on from page to page when more is in doubt than one answer holds", async () => {
    const call = table.call();
    const session = await attachedSession(call);
    const xids: Xid[] = [];
    for (let i = 0; i < IN_DOUBT_PER_ANSWER + 30; i++) {
      const xid = await started(call, session);
      await prepared(call, session, xid);
      xids.push(xid);
    }
    const pages = await wholeRecovery();
    expect(pages.length).toBeGreaterThan(1);
    expect(pages.every(({ inDoubt }) => inDoubt.length <= IN_DOUBT_PER_ANSWER)).toBe(true);
    const listed = pages.flatMap(({ inDoubt }) => inDoubt.map(({ xid }) => xid));
    expect(new Set(listed).size).toBe(listed.length);
    expect(xids.filter((xid) => !listed.includes(xid))).toEqual([]);
    const { recovery } = answered(await attachSession(table.call(), session.name, 300));
    expect(recovery).toMatchObject({ more: true });
    expect(recovery.inDoubt).toHaveLength(IN_DOUBT_PER_ANSWER);
    for (const xid of xids) answered(await rollbackBranch(call, xid, undefined));
  });

  it("stops when its time is over, and goes on where it stopped", async () => {
    const call = table.call();
    const session = await attachedSession(call);
    const xid = await started(call, session);
    await prepared(call, session, xid);
    const cut = await recoverPage(table.call(-1));
    expect(cut).toMatchObject({ inDoubt: [], more: true });
    expect(cut.next).toBeDefined();
    expect(inDoubtIn([await recoverPage(table.call(), cut.next)], xid)).toHaveLength(1);
    expect(await recoverSession(table.call(-1), session.name)).toMatchObject({ inDoubt: [], more: true });
  });

  it("replays what is held on a queue that was deleted meanwhile", async () => {
    const call = table.call();
    const queue = await declared(call, { partitions: 2 });
    const session = await attachedSession(call);
    const run = await put(call, queue, ["a"], 1);
    const xid = await started(call, session);
    await accepted(call, session, xid, await take(call, run));
    await prepared(call, session, xid);
    await deleteQueue(call, queue.name, { ifEmpty: false, ifUnused: false });
    expect(inDoubtIn(await wholeRecovery(), xid)).toMatchObject([{ dequeues: [{ queue: queue.name, sequence: "1" }] }]);
    answered(await rollbackBranch(call, xid, undefined));
  });
});

describe("recovery on resume", () => {
  it("tells of this session's branches at any epoch, and undoes its unprepared work", async () => {
    const call = table.call();
    const queue = await declared(call);
    const [first, stranger] = [await attachedSession(call), await attachedSession(call)];
    const inDoubt = await started(call, first);
    await prepared(call, first, inDoubt);
    const others = await started(call, stranger);
    await prepared(call, stranger, others);
    const second = answered(await attachSession(call, first.name, 300));
    expect(second).toMatchObject({ isResumed: true, recovery: { rolledBack: 0, unreadable: [] } });
    const open = await started(call, second.session);
    await enlisted(call, second.session, open, queue.name, ["never seen"]);
    const third = answered(await attachSession(call, first.name, 300));
    expect(third.recovery.inDoubt.map(({ xid }) => xid)).toEqual([inDoubt]);
    expect(third.recovery).toMatchObject({ rolledBack: 1, finished: 0, more: false });
    expect(await stateOf(call, open)).toBe("rollback-only");
    expect(await bodiesOn(call, queue)).toEqual([]);
  });
});
