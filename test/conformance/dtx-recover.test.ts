import { describe, expect, it } from "vitest";
import type { Client } from "../support/client.ts";
import {
  availableOn,
  begin,
  bodiesOf,
  drain,
  endAndPrepare,
  enqueueBodies,
  expectOk,
  expectXa,
  newQueue,
  newSession,
  stateOf,
  swap,
} from "../support/moves.ts";
import { newXid } from "../support/names.ts";
import { wait } from "../support/poll.ts";
import { useService } from "../support/service.ts";

const service = useService();

/** Which of these xids recover lists, in the order given here; a listing that repeats one fails. */
async function inDoubtOf(c: Client, xids: readonly string[], limit?: number): Promise<string[]> {
  const listed = (await c.recover(limit)).map((branch) => branch.xid);
  expect(new Set(listed).size, "recover repeats nothing").toBe(listed.length);
  return xids.filter((xid) => listed.includes(xid));
}

/** A prepared branch that has published these bodies. */
async function preparedPublish(s: Client, queue: string, bodies: readonly string[], xid = newXid()): Promise<string> {
  await enqueueBodies(await begin(s, xid), queue, bodies);
  await endAndPrepare(s, xid);
  return xid;
}

describe("recover", () => {
  it("D-26: lists exactly the prepared four of nine branches, which can then be rolled back", async () => {
    const s = await newSession(service.client);
    const queue = await newQueue(s);
    const xids = Array.from({ length: 9 }, () => newXid());
    const prepared = xids.filter((_, index) => [2, 5, 6, 8].includes(index + 1));
    for (const xid of xids) {
      await enqueueBodies(await begin(s, xid), queue, [xid]);
      expectXa(await s.end(xid), "XA_OK");
      expectXa(await (prepared.includes(xid) ? s.prepare(xid) : s.rollback(xid)), "XA_OK");
    }
    expect(await inDoubtOf(s, xids)).toEqual(prepared);
    for (const xid of prepared) expectXa(await s.rollback(xid), "XA_OK");
    expect(await inDoubtOf(s, xids)).toEqual([]);
    expect(await availableOn(s, queue)).toEqual([0]);
  });

  it.each([1, 2, 3, 500])("is complete and without repeats in pages of %i", async (limit) => {
    const s = await newSession(service.client);
    const queue = await newQueue(s);
    const xids: string[] = [];
    for (let n = 0; n < 7; n += 1) xids.push(await preparedPublish(s, queue, ["in doubt"]));
    expect(await inDoubtOf(s, xids, limit)).toEqual(xids);
    const page = expectOk(await s.recoverPage({ limit }));
    expect(page.branches.length).toBeLessThanOrEqual(limit);
    for (const xid of xids) expectXa(await s.rollback(xid), "XA_OK");
  });

  it("goes on after branches of earlier pages were finished", async () => {
    const s = await newSession(service.client);
    const queue = await newQueue(s);
    const xids: string[] = [];
    for (let n = 0; n < 6; n += 1) xids.push(await preparedPublish(s, queue, ["in doubt"]));
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = expectOk(await s.recoverPage({ limit: 2, cursor }));
      for (const { xid } of page.branches.filter((branch) => xids.includes(branch.xid))) {
        seen.push(xid);
        expectXa(await s.rollback(xid), "XA_OK");
      }
      cursor = page.cursor;
    } while (cursor !== undefined);
    expect(seen.sort()).toEqual([...xids].sort());
  });

  it("tells each branch's parts, state, session and time of prepare", async () => {
    const s = await newSession(service.client);
    const before = Date.now();
    const xid = await preparedPublish(s, await newQueue(s), ["in doubt"]);
    const found = (await s.recover()).find((branch) => branch.xid === xid);
    const [formatId, gtrid, bqual] = xid.split(".");
    expect(found).toMatchObject({
      xid,
      formatId: Number(formatId),
      gtrid,
      bqual,
      state: "prepared",
      session: s.context.session,
    });
    const preparedAt = Date.parse(found?.preparedAt ?? "");
    expect(found?.preparedAt).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/);
    expect(preparedAt).toBeGreaterThanOrEqual(before - 1000);
    expect(preparedAt).toBeLessThanOrEqual(Date.now() + 1000);
    expectXa(await s.rollback(xid), "XA_OK");
  });
});

describe("after a kill of all processes", () => {
  it("S-1: the prepared xid comes back byte for byte; a waiting consumer gets its message only at the commit", async () => {
    const s = await newSession(service.client);
    const queue = await newQueue(s);
    const xid = newXid({ gtrid: Buffer.from([0, 255, 0, 46, 47, 0, ...crypto.getRandomValues(new Uint8Array(6))]) });
    await preparedPublish(s, queue, ["in doubt"], xid);
    await service.restart();
    expect(await inDoubtOf(s, [xid])).toEqual([xid]);
    expect(expectOk(await s.acquire(queue, { waitSeconds: 1 })).deliveries).toEqual([]);
    const waiting = s.acquire(queue, { waitSeconds: 15 });
    await wait(300);
    expectXa(await s.commit(xid), "XA_OK");
    expect(expectOk(await waiting).deliveries).toMatchObject([{ body: "in doubt" }]);
  });

  /** Four swaps on four pairs of queues, of which a is committed, b rolled back, c and d prepared; then a restart. */
  async function fourSwaps() {
    const s = await newSession(service.client);
    const swaps: { xid: string; from: string; to: string }[] = [];
    for (const name of ["a", "b", "c", "d"]) {
      const [from, to] = [await newQueue(s, [name]), await newQueue(s)];
      const xid = newXid();
      await swap(await begin(s, xid), from, to);
      expectXa(await s.end(xid), "XA_OK");
      swaps.push({ xid, from, to });
    }
    const [a, b, c, d] = swaps.map((each) => each.xid) as [string, string, string, string];
    expectXa(await s.commit(a, { onePhase: true }), "XA_OK");
    expectXa(await s.rollback(b), "XA_OK");
    expectXa(await s.prepare(c), "XA_OK");
    expectXa(await s.prepare(d), "XA_OK");
    await service.restart();
    const contents = () =>
      Promise.all(swaps.map(async ({ from, to }) => [await bodiesOf(s, from), await bodiesOf(s, to)]));
    return { s, a, b, c, d, contents };
  }

  it("S-2: recover lists exactly the two prepared of four", async () => {
    const { s, a, b, c, d, contents } = await fourSwaps();
    expect(await inDoubtOf(s, [a, b, c, d])).toEqual([c, d]);
    expect(await contents()).toEqual([
      [[], ["a"]],
      [["b"], []],
      [[], []],
      [[], []],
    ]);
  });

  it("S-3: one is committed, the other rolled back, each to its own effect", async () => {
    const { s, c, d, contents } = await fourSwaps();
    expectXa(await s.commit(c), "XA_OK");
    expectXa(await s.rollback(d), "XA_OK");
    expect((await contents()).slice(2)).toEqual([
      [[], ["c"]],
      [["d"], []],
    ]);
  });

  it("S-4: after a second restart nothing is in doubt and the effects stand", async () => {
    const { s, a, b, c, d, contents } = await fourSwaps();
    expectXa(await s.commit(c), "XA_OK");
    expectXa(await s.rollback(d), "XA_OK");
    const before = await contents();
    await service.restart();
    expect(await inDoubtOf(s, [a, b, c, d])).toEqual([]);
    expect(await contents()).toEqual(before);
    expect(await Promise.all([a, b, c, d].map((xid) => stateOf(s, xid)))).toEqual([
      "committed",
      "rolled-back",
      "committed",
      "rolled-back",
    ]);
  });

  it("X-08: empty branches are rolled back and committed like others, and nothing stays in doubt", async () => {
    const s = await newSession(service.client);
    const [x1, x2, x3, x4] = [newXid(), newXid(), newXid(), newXid()];
    for (const xid of [x1, x2, x3, x4]) {
      await begin(s, xid);
      expectXa(await s.end(xid), "XA_OK");
    }
    expectXa(await s.rollback(x1), "XA_OK");
    for (const xid of [x2, x3]) expectXa(await s.prepare(xid), "XA_OK");
    expect(await inDoubtOf(s, [x1, x2, x3])).toEqual([x2, x3]);
    expectXa(await s.commit(x2), "XA_OK");
    expectXa(await s.rollback(x3), "XA_OK");
    expectXa(await s.commit(x4, { onePhase: true }), "XA_OK");
    await service.restart();
    expect(await inDoubtOf(s, [x1, x2, x3, x4])).toEqual([]);
  });
});

describe("POST /recovery", () => {
  it("lists what is in doubt with its enqueues and dequeues, decides nothing, and twice is once", async () => {
    const s = await newSession(service.client);
    const [from, to] = [await newQueue(s, ["moved"]), await newQueue(s)];
    const xid = newXid();
    const moved = await swap(await begin(s, xid), from, to);
    await endAndPrepare(s, xid);
    for (let run = 0; run < 2; run += 1) {
      const report = await wholeRecovery(s);
      expect(report.find((branch) => branch.xid === xid)).toMatchObject({
        xid,
        enqueues: [{ queue: to, messageId: moved.messageId }],
        dequeues: [{ queue: from, messageId: moved.messageId, sequence: moved.sequence }],
      });
    }
    await Promise.all([wholeRecovery(s), wholeRecovery(s)]);
    expect(await stateOf(s, xid)).toBe("prepared");
    expect(await availableOn(s, from, to)).toEqual([0, 0]);
    expectXa(await s.commit(xid), "XA_OK");
    expect((await drain(s, to)).map((delivery) => delivery.body)).toEqual(["moved"]);
  });

  it("never touches a live branch", async () => {
    const s = await newSession(service.client);
    const queue = await newQueue(s);
    const [active, idle] = [newXid(), newXid()];
    for (const xid of [active, idle]) await enqueueBodies(await begin(s, xid), queue, [xid]);
    expectXa(await s.end(idle), "XA_OK");
    await wholeRecovery(s);
    expect([await stateOf(s, active), await stateOf(s, idle)]).toEqual(["active", "idle"]);
    for (const xid of [idle, active]) {
      if (xid === active) expectXa(await s.end(active), "XA_OK");
      expectXa(await s.commit(xid, { onePhase: true }), "XA_OK");
    }
    expect(await bodiesOf(s, queue)).toEqual([idle, active]);
  });

  /** The in-doubt branches of every page. */
  async function wholeRecovery(c: Client) {
    const inDoubt = [];
    let cursor: string | undefined;
    do {
      const page = expectOk(await c.recovery(cursor));
      inDoubt.push(...page.inDoubt);
      cursor = page.cursor;
    } while (cursor !== undefined);
    return inDoubt;
  }
});
