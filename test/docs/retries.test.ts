import { describe, expect, it } from "vitest";
import type { Client } from "../support/client.ts";
import type { Answer } from "../support/http.ts";
import { newXid, unique } from "../support/names.ts";
import { useService } from "../support/service.ts";
import type { Settled, XaAnswer } from "../support/shapes.ts";
import { page, section, tableRows } from "./markdown.ts";

const service = useService();

/** An answer in the words of the page: an XA status without its head, an AMQP code, an outcome, an HTTP status. */
const told = (answer: Answer<unknown>): string => {
  if (answer.problem !== undefined) return String(answer.problem.amqp);
  const { xa } = (answer.body ?? {}) as Partial<XaAnswer>;
  const { outcomes } = (answer.body ?? {}) as Partial<Settled>;
  return xa?.slice(3) ?? outcomes?.[0]?.status ?? String(answer.status);
};

interface Stage {
  readonly c: Client;
  /** A client in a session that has started `xid`. */
  readonly s: Client;
  readonly xid: string;
  /** A queue with two messages. */
  readonly queue: string;
  /** Takes one of them. */
  readonly take: () => Promise<readonly string[]>;
}

async function stage(): Promise<Stage> {
  const c = service.client;
  const queue = unique();
  const xid = newXid();
  await c.declare(queue);
  await c.enqueue(queue, [{ body: "1" }, { body: "2" }]);
  const s = await c.attached(unique());
  await s.start(xid);
  const take = async () => (await c.acquire(queue)).body.deliveries.map(({ deliveryId }) => deliveryId);
  return { c, s, xid, queue, take };
}

const twice = async (call: () => Promise<Answer<unknown>>): Promise<string> => {
  await call();
  return told(await call());
};

const prepared = async ({ c, s, xid }: Stage) => {
  await s.end(xid);
  await c.prepare(xid);
};

/** Each call of the table, made and made again; what the second one answers. */
const retries: Readonly<Record<string, (on: Stage) => Promise<string>>> = {
  start: async ({ s, xid }) => told(await s.start(xid)),
  "start with join": async ({ c, xid }) => {
    const other = await c.attached(unique());
    return twice(() => other.start(xid, { join: true }));
  },
  "start with resume": async ({ s, xid }) => {
    await s.end(xid, { suspend: true });
    return twice(() => s.start(xid, { resume: true }));
  },
  "end, end with fail": async ({ s, xid }) => twice(() => s.end(xid)),
  "end with suspend": async ({ s, xid }) => twice(() => s.end(xid, { suspend: true })),
  prepare: async ({ c, s, xid }) => {
    await s.end(xid);
    return twice(() => c.prepare(xid));
  },
  "commit, rollback": async (on) => {
    await prepared(on);
    return twice(() => on.c.commit(on.xid));
  },
  "after RBROLLBACK, RBTIMEOUT": async ({ c, s, xid }) => {
    await s.end(xid, { fail: true });
    return twice(() => c.commit(xid));
  },
  heuristic: async (on) => {
    await prepared(on);
    return twice(() => on.c.heuristic(on.xid, "commit"));
  },
  forget: async (on) => {
    await prepared(on);
    await on.c.heuristic(on.xid, "commit");
    return twice(() => on.c.forget(on.xid));
  },
  "set timeout": async ({ c, xid }) => ((await twice(() => c.setTimeout(xid, 9))) === "200" ? "OK" : "refused"),
  enqueue: async ({ c, queue }) => {
    await twice(() => c.enqueue(queue, [{ body: "3" }]));
    return (await c.stats(queue)).available === "4" ? "enqueued again" : "enqueued once";
  },
  acquire: async ({ take }) => {
    const [first] = await take();
    const [second] = await take();
    return second !== undefined && second !== first ? "other messages" : "nothing new";
  },
  accept: async ({ c, take }) => {
    const ids = await take();
    return twice(() => c.accept(ids));
  },
  release: async ({ c, take }) => {
    const ids = await take();
    return twice(() => c.release(ids));
  },
  reject: async ({ c, take }) => {
    const ids = await take();
    return twice(() => c.reject(ids));
  },
  extend: async ({ c, take }) => {
    const ids = await take();
    return twice(() => c.extend(ids, 60));
  },
  declare: async ({ c }) => {
    const name = unique();
    return twice(() => c.declare(name));
  },
  "delete of a queue": async ({ c, queue }) => twice(() => c.deleteQueue(queue)),
  purge: async ({ c, queue }) => {
    await c.purge(queue);
    await c.enqueue(queue, [{ body: "3" }]);
    return (await c.purge(queue)).body.purged === 1 ? "purges what has come since" : "purges nothing";
  },
  attach: async ({ c }) => {
    const name = unique();
    await c.attach(name);
    const again = await c.attach(name);
    return again.body.resumed && again.body.epoch === 2 ? "resumes under the next epoch" : "is the same attach";
  },
  "keep alive": async ({ s }) =>
    (await twice(() => s.keepAlive(s.context.session ?? ""))) === "200" ? "OK" : "refused",
  detach: async ({ c, s }) => twice(() => c.detach(s.context.session ?? "")),
  recovery: async ({ c, s, xid }) => {
    await c.attach(s.context.session ?? "");
    await c.recovery();
    const before = (await c.getBranch(xid)).body;
    await c.recovery();
    const after = (await c.getBranch(xid)).body;
    return JSON.stringify(after) === JSON.stringify(before) ? "finds less to do" : "does it again";
  },
};

const rows = tableRows(section(page("docs/adr/0005-what-a-retry-answers.md"), "Decision")).slice(1);

describe("a call that is sent again", () => {
  it.each(rows)("%s: %s", async (call, says) => {
    const retry = retries[call];
    if (retry === undefined) throw new Error(`the page names a call that is none: ${call}`);
    const answered = await retry(await stage());
    expect(says.slice(0, answered.length)).toBe(answered);
  });

  it("is on the page for every call that changes anything", () => {
    expect(rows.map(([call]) => call).toSorted()).toEqual(Object.keys(retries).toSorted());
  });
});
