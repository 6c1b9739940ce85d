/** Every verb that names a session at its epoch, after the session was resumed. */
import type { Client } from "../support/client.ts";
import type { Answer } from "../support/http.ts";
import { expectOk, newQueue } from "../support/moves.ts";
import { newXid } from "../support/names.ts";
import { commandRows } from "./commands.ts";
import type { Doing, Held, MakeRow, Row, Stage } from "./late.ts";
import { attached, fanout, heuristic, idle, LARGE, lateOf, leased, prepared, suspended, working } from "./scenes.ts";

/** Shorter than everything else lasts. */
const SESSION_SECONDS = 60;

/** How an epoch comes to its end, and the next one of the name begins. */
export const takeovers = {
  resumed: async ({ others }, session) => {
    expectOk(await others.attach(session, 3600));
  },
  "detached and attached again": async ({ others }, session) => {
    expectOk(await others.detach(session), 204);
    expectOk(await others.attach(session, 3600));
  },
  "expired and attached again": async ({ others, wait }, session) => {
    wait(SESSION_SECONDS * 1000 + 1_000);
    expectOk(await others.attach(session, 3600));
  },
} as const satisfies Record<string, (stage: Stage, session: string) => Promise<void>>;

export type Takeover = keyof typeof takeovers;

const hadPassedTheFence = (held: Held): boolean => held.hadRead("SESSION#");
const outside = {
  why: "outside a branch, what had read its session before the fence may land after it",
  when: hadPassedTheFence,
};
const anyones = {
  why: "anyone may bring a branch to its end, in a session or none: that is no work in it",
  when: hadPassedTheFence,
};

export const epochRows = (takeover: Takeover): readonly Row[] => {
  const row = (route: string, how: string, doing: Doing, mayLand?: Row["mayLand"]): Row => ({
    carries: "epoch",
    route,
    how,
    told: "session-fenced",
    toldUnderWay: ["session-fenced"],
    ...(mayLand !== undefined && { mayLand }),
    async make(stage) {
      const session = await attached(stage, SESSION_SECONDS);
      const send = await doing(session, stage);
      return {
        send: () => send(lateOf(stage, session)),
        next: () => takeovers[takeover](stage, session.context.session ?? ""),
      };
    },
  });
  return [...messageRows(row), ...sessionRows(row), ...commandRows(row), ...branchRows(row)];
};

const messageRows = (row: MakeRow): readonly Row[] => [
  row("POST /queues/{queue}/messages", "outside a branch", enqueueing("small"), outside),
  row("POST /queues/{queue}/messages", "outside a branch, large", enqueueing(LARGE), outside),
  row("POST /queues/{queue}/messages", "in a branch", enqueueingInBranch("small")),
  row("POST /queues/{queue}/messages", "in a branch, large", enqueueingInBranch(LARGE)),
  row("POST /exchanges/{exchange}/messages", "outside a branch", publishing, outside),
  row("POST /exchanges/{exchange}/messages", "in a branch", publishingInBranch),
  row(
    "POST /queues/{queue}/deliveries",
    "outside a branch",
    async (session) => {
      const queue = await newQueue(session, ["m1", "m2"]);
      return (late) => late.acquire(queue, { maxMessages: 2 });
    },
    outside,
  ),
  row(
    "POST /queues/{queue}/deliveries",
    "removing",
    async (session) => {
      const queue = await newQueue(session, ["m1", "m2"]);
      return (late) => late.acquire(queue, { maxMessages: 2, settle: "none" });
    },
    outside,
  ),
  row(
    "POST /queues/{queue}/deliveries",
    "in a branch",
    async (session) => {
      const [{ xid }, queue] = [await working(session), await newQueue(session, ["m1"])];
      return (late) => late.within(xid).acquire(queue);
    },
    // A lease is no part of the branch; one of an epoch that is over counts for nothing.
    outside,
  ),
  row("POST /deliveries/accept", "outside a branch", settling("accept"), outside),
  row("POST /deliveries/release", "outside a branch", settling("release"), outside),
  row("POST /deliveries/reject", "outside a branch", settling("reject"), outside),
  row("POST /deliveries/extend", "outside a branch", settling("extend"), outside),
  row("POST /deliveries/accept", "in a branch", async (session) => {
    const [{ xid }, { ids }] = [await working(session), await leased(session)];
    return (late) => late.within(xid).accept(ids);
  }),
  row("POST /deliveries/accept", "in a branch, of somebody else's lease", async (session, stage) => {
    const [{ xid }, { ids }] = [await working(session), await leased(stage.others)];
    return (late) => late.within(xid).accept(ids);
  }),
];

const enqueueing =
  (body: string): Doing =>
  async (session) => {
    const queue = await newQueue(session);
    return (late) => late.enqueue(queue, [{ body }, { body, deduplicationId: "d" }]);
  };

const enqueueingInBranch =
  (body: string): Doing =>
  async (session) => {
    const { xid, to } = await working(session);
    return (late) => late.within(xid).enqueue(to, [{ body }, { body, deduplicationId: "d" }]);
  };

const publishing: Doing = async (session) => {
  const { exchange } = await fanout(session);
  return (late) => late.publish(exchange, [{ body: "all" }, { body: "once", deduplicationId: "d" }]);
};

const publishingInBranch: Doing = async (session) => {
  const [{ xid }, { exchange }] = [await working(session), await fanout(session)];
  return (late) => late.within(xid).publish(exchange, [{ body: "all" }, { body: LARGE, deduplicationId: "d" }]);
};

/** Of a delivery that nobody's session has anything to do with: what is late is the caller's epoch alone. */
const settling =
  (verb: "accept" | "release" | "reject" | "extend"): Doing =>
  async (_session, stage) => {
    const { ids } = await leased(stage.others, ["m1", "m2"]);
    return (late) => (verb === "extend" ? late.extend(ids, 60) : late[verb](ids));
  };

const sessionRows = (row: MakeRow): readonly Row[] => [
  row("PUT /sessions/{session}", "keeping alive", async (session) => {
    const name = session.context.session ?? "";
    return (late) => late.keepAlive(name, 600);
  }),
  row("DELETE /sessions/{session}", "of this epoch", async (session) => {
    const name = session.context.session ?? "";
    await working(session);
    return (late) => late.detach(name);
  }),
  row(
    "POST /sessions/{session}/sync",
    "at once",
    async (session) => {
      const name = session.context.session ?? "";
      return (late) => late.sync(name, 0);
    },
    outside,
  ),
];

const branchRows = (row: MakeRow): readonly Row[] => {
  /** The same verb on a branch that the session worked in, and on one of somebody else's. */
  const both = (
    route: string,
    how: string,
    bring: (session: Client) => Promise<{ readonly xid: string }>,
    verb: (late: Client, xid: string) => Promise<Answer<unknown>>,
  ): readonly Row[] => [
    row(
      route,
      `${how}, its own branch`,
      async (session) => {
        const { xid } = await bring(session);
        return (late) => verb(late, xid);
      },
      anyones,
    ),
    row(
      route,
      `${how}, another's branch`,
      async (_session, stage) => {
        const { xid } = await bring(await attached(stage));
        return (late) => verb(late, xid);
      },
      anyones,
    ),
  ];
  return [
    row("POST /dtx/{xid}/start", "a new branch", async () => {
      const xid = newXid();
      return (late) => late.start(xid);
    }),
    row("POST /dtx/{xid}/start", "joining", async (_session, stage) => {
      const { xid } = await working(await attached(stage));
      return (late) => late.start(xid, { join: true });
    }),
    row("POST /dtx/{xid}/start", "resuming", async (session) => {
      const { xid } = await suspended(session);
      return (late) => late.start(xid, { resume: true });
    }),
    row("POST /dtx/{xid}/end", "plainly", async (session) => {
      const { xid } = await working(session);
      return (late) => late.end(xid);
    }),
    row("POST /dtx/{xid}/end", "suspending", async (session) => {
      const { xid } = await working(session);
      return (late) => late.end(xid, { suspend: true });
    }),
    row("POST /dtx/{xid}/end", "failing", async (session) => {
      const { xid } = await working(session);
      return (late) => late.end(xid, { fail: true });
    }),
    ...both("POST /dtx/{xid}/prepare", "idle", idle, (late, xid) => late.prepare(xid)),
    ...both("POST /dtx/{xid}/commit", "one phase", idle, (late, xid) => late.commit(xid, { onePhase: true })),
    ...both("POST /dtx/{xid}/commit", "two phases", prepared, (late, xid) => late.commit(xid)),
    ...both("POST /dtx/{xid}/rollback", "idle", idle, (late, xid) => late.rollback(xid)),
    ...both("POST /dtx/{xid}/rollback", "prepared", prepared, (late, xid) => late.rollback(xid)),
    ...both("POST /dtx/{xid}/forget", "decided", heuristic, (late, xid) => late.forget(xid)),
    ...both("POST /dtx/{xid}/heuristic", "prepared", prepared, (late, xid) => late.heuristic(xid, "rollback")),
    ...both("PUT /dtx/{xid}/timeout", "active", working, (late, xid) => late.setTimeout(xid, 200)),
  ];
};
