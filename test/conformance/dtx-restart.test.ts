import { beforeAll, describe, expect, it } from "vitest";
import type { Client } from "../support/client.ts";
import {
  availableOn,
  begin,
  bodiesOf,
  browseAll,
  consume,
  drain,
  endAndPrepare,
  enqueueBodies,
  expectOk,
  expectXa,
  newQueue,
  newQueues,
  newSession,
  stateOf,
} from "../support/moves.ts";
import { newXid } from "../support/names.ts";
import { useService } from "../support/service.ts";
import { expectBack, expectMoved, swapped } from "../support/swapped.ts";

const service = useService();

/** Work done in a branch of a session, and what the queues must show when it was committed or undone. */
interface Work {
  readonly s: Client;
  readonly xid: string;
  readonly expectDone: () => Promise<void>;
  readonly expectUndone: () => Promise<void>;
}

async function enqueueThree(): Promise<Work> {
  const s = await newSession(service.client);
  const queue = await newQueue(s);
  const xid = newXid();
  await enqueueBodies(await begin(s, xid), queue, ["1", "2", "3"]);
  return {
    s,
    xid,
    expectDone: async () => expect(await bodiesOf(s, queue)).toEqual(["1", "2", "3"]),
    expectUndone: async () => expect(await bodiesOf(s, queue)).toEqual([]),
  };
}

async function dequeueThree(): Promise<Work> {
  const s = await newSession(service.client);
  const queue = await newQueue(s, ["1", "2", "3", "4"]);
  const before = await browseAll(s, queue);
  const xid = newXid();
  await consume(await begin(s, xid), queue, 3);
  return {
    s,
    xid,
    expectDone: async () => expect(await bodiesOf(s, queue)).toEqual(["4"]),
    expectUndone: async () => expect(await browseAll(s, queue)).toEqual(before),
  };
}

async function swapOne(): Promise<Work> {
  const branch = await swapped(service.client);
  return {
    s: branch.s1,
    xid: branch.xid,
    expectDone: () => expectMoved(branch),
    expectUndone: () => expectBack(branch),
  };
}

const works = [
  ["enqueue 3", enqueueThree],
  ["dequeue 3", dequeueThree],
  ["swap", swapOne],
] as const;

interface Row {
  readonly id: string;
  readonly name: string;
  readonly work: () => Promise<Work>;
  readonly finish: "commit" | "rollback";
  readonly isPrepared: boolean;
}

const rows: readonly Row[] = [
  ...works.flatMap(([name, work], w) =>
    (["commit", "rollback"] as const).map((finish, f) => {
      return { id: `2PC-${1 + 2 * w + f}`, name: `${name}, prepare, ${finish}`, work, finish, isPrepared: true };
    }),
  ),
  ...works.map(([name, work], w) => {
    return {
      id: `2PC-${7 + w}`,
      name: `${name}, unprepared rollback`,
      work,
      finish: "rollback" as const,
      isPrepared: false,
    };
  }),
];

async function finished({ work, finish, isPrepared }: Row): Promise<Work> {
  const done = await work();
  expectXa(await done.s.end(done.xid), "XA_OK");
  if (isPrepared) expectXa(await done.s.prepare(done.xid), "XA_OK");
  expectXa(await done.s[finish](done.xid), "XA_OK");
  return done;
}

describe("finished, then all processes killed", () => {
  /** By row; one kill is enough for all of them, and each row tells its own failure. */
  let works: PromiseSettledResult<Work>[] = [];

  beforeAll(async () => {
    works = await Promise.allSettled(rows.map(finished));
    await service.restart();
  });

  it.each(rows.map((row, index) => ({ ...row, index })))("$id: $name, restart", async ({ finish, index }) => {
    const work = works[index];
    if (work?.status !== "fulfilled") throw work?.reason;
    const { s, xid, expectDone, expectUndone } = work.value;
    await (finish === "commit" ? expectDone() : expectUndone());
    expect(await stateOf(s, xid)).toBe(finish === "commit" ? "committed" : "rolled-back");
  });
});

describe("in doubt, then all processes killed", () => {
  it.each([
    ["2PC-10", "commit"],
    ["2PC-11", "rollback"],
  ] as const)("%s: swap, prepare, restart, %s, restart", async (_id, finish) => {
    const branch = await swapped(service.client);
    const { c, s1, xid, a, b } = branch;
    await endAndPrepare(s1, xid);
    await service.restart();
    expect(await availableOn(c, a, b)).toEqual([0, 0]);
    for (const queue of [a, b]) {
      expect(await bodiesOf(c, queue)).toEqual([]);
      expect(expectOk(await c.acquire(queue, { maxMessages: 10, waitSeconds: 1 })).deliveries).toEqual([]);
    }
    expect((await c.recover()).map((found) => found.xid)).toContain(xid);
    expectXa(await c[finish](xid), "XA_OK");
    const look = async () => [await browseAll(c, a), await browseAll(c, b)];
    const after = await look();
    await service.restart();
    expect(await look()).toEqual(after);
    await (finish === "commit" ? expectMoved(branch) : expectBack(branch));
  });

  it.each([
    ["2PC-12", "commit"],
    ["2PC-13", "rollback"],
  ] as const)("%s: two messages to each of two queues, prepare, %s", async (_id, finish) => {
    const s = await newSession(service.client);
    const queues = await newQueues(s, 2);
    const xid = newXid();
    const inBranch = await begin(s, xid);
    for (const body of ["first", "second"]) for (const queue of queues) await enqueueBodies(inBranch, queue, [body]);
    await endAndPrepare(s, xid);
    await service.restart();
    expectXa(await s[finish](xid), "XA_OK");
    for (const queue of queues) {
      const bodies = (await drain(s, queue)).map((delivery) => delivery.body);
      expect(bodies).toEqual(finish === "commit" ? ["first", "second"] : []);
    }
  });
});

describe("work that the kill interrupts", () => {
  it("an active branch, its session and its leases outlive the processes", async () => {
    const s = await newSession(service.client);
    const [from, to] = [await newQueue(s, ["1", "2"]), await newQueue(s)];
    const xid = newXid();
    const inBranch = await begin(s, xid);
    await consume(inBranch, from);
    const { deliveries } = expectOk(await s.acquire(from, { leaseSeconds: 60 }));
    await service.restart();
    expect(await stateOf(s, xid)).toBe("active");
    const [outcome] = expectOk(await inBranch.accept(deliveries.map((delivery) => delivery.deliveryId))).outcomes;
    expect(outcome?.status).toBe("accepted");
    await enqueueBodies(inBranch, to, ["copy"]);
    await endAndPrepare(s, xid);
    expectXa(await s.commit(xid), "XA_OK");
    expect([await bodiesOf(s, from), await bodiesOf(s, to)]).toEqual([[], ["copy"]]);
  });
});
