/** Late verbs that name a branch. */
import type { Client } from "../support/client.ts";
import type { Answer } from "../support/http.ts";
import { begin, enqueueBodies, expectOk, expectXa, newQueue } from "../support/moves.ts";
import { newXid } from "../support/names.ts";
import type { Row, Stage } from "./late.ts";
import { attached, fanout, heuristic, idle, LARGE, lateOf, leased, prepared, suspended, working } from "./scenes.ts";

interface Case {
  readonly route: string;
  readonly how: string;
  readonly bring: Bring;
  readonly verb: (stage: Stage) => Promise<Verb> | Verb;
  /** By a branch at work that its session is not associated with; absent when that takes the request like one of now. */
  readonly told?: string;
}

/** Brings a branch to where the verb fits it: at work, ended, prepared, … */
type Bring = (session: Client, xid?: string) => Promise<{ readonly xid: string; readonly to: string }>;
type Verb = (late: Client, branch: { readonly xid: string; readonly to: string }) => Promise<Answer<unknown>>;

/** Rolls the first branch back, however it stands; its session is attached throughout. */
const rollBack = async (session: Client, xid: string): Promise<void> => {
  const { state } = expectOk(await session.getBranch(xid));
  if (state.startsWith("heuristically")) {
    expectOk(await session.forget(xid), 204);
    return;
  }
  if (state === "active" || state === "suspended") expectXa(await session.end(xid), "XA_OK");
  expectXa(await session.rollback(xid), "XA_OK");
};

/** The next branch of the xid is another session's, and at work: what is late does not fit it. */
const ofAnother = ({ route, how, bring, verb, told = "" }: Case): Row => ({
  carries: "incarnation",
  route,
  how: `${how}; the next one is another session's`,
  told,
  // All it finds out may be that the branch it knew is gone.
  toldUnderWay: [told, "unavailable"],
  async make(stage) {
    const [session, other] = [await attached(stage), await attached(stage)];
    const [branch, send] = [await bring(session), await verb(stage)];
    return {
      send: () => send(lateOf(stage, session), branch),
      async next() {
        await rollBack(session, branch.xid);
        await working(other, branch.xid);
      },
    };
  },
});

/**
 * The next branch of the xid stands just as the first one did: a request that has met the first one knows that it means
 * that one. (One that is sent only now means the branch of now: nothing on the wire tells.)
 */
const likeTheFirst = ({ route, how, bring, verb }: Case): Row => ({
  carries: "incarnation",
  route,
  how: `${how}; the next one stands as the first one did`,
  toldUnderWay: ["unavailable"],
  async make(stage) {
    const session = await attached(stage);
    const [branch, send] = [await bring(session), await verb(stage)];
    return {
      knowsBy: `XID#${branch.xid}`,
      send: () => send(lateOf(stage, session), branch),
      async next() {
        await rollBack(session, branch.xid);
        await bring(session, branch.xid);
      },
    };
  },
});

const enqueueing =
  (body: string) =>
  (): Verb =>
  (late, { xid, to }) =>
    late.within(xid).enqueue(to, [{ body }]);

const accepting = async (stage: Stage): Promise<Verb> => {
  const { ids } = await leased(stage.others, ["m1"], {}, 300);
  return (late, { xid }) => late.within(xid).accept(ids);
};

const plain =
  (verb: (late: Client, xid: string) => Promise<Answer<unknown>>) =>
  (): Verb =>
  (late, { xid }) =>
    verb(late, xid);

/** A branch that lists as much as its record holds: the next operation puts the others aside. */
const full: Bring = async (session, xid = newXid()) => {
  const to = await newQueue(session);
  const worker = await begin(session, xid, 3600);
  for (let i = 0; i < 5; i += 1) await enqueueBodies(worker, to, ["x".repeat(480)]);
  return { xid, to };
};

const publishing = async ({ others }: Stage): Promise<Verb> => {
  const { exchange } = await fanout(others);
  return (late, { xid }) => late.within(xid).publish(exchange, [{ body: "all" }, { body: LARGE }]);
};

const told = "illegal-state";
const cases: readonly Case[] = [
  { route: "POST /queues/{queue}/messages", how: "small", bring: working, verb: enqueueing("small"), told },
  { route: "POST /queues/{queue}/messages", how: "large", bring: working, verb: enqueueing(LARGE), told },
  {
    route: "POST /queues/{queue}/messages",
    how: "to a full record",
    bring: full,
    verb: enqueueing("x".repeat(480)),
    told,
  },
  { route: "POST /exchanges/{exchange}/messages", how: "to two queues", bring: working, verb: publishing, told },
  { route: "POST /deliveries/accept", how: "leased before", bring: working, verb: accepting, told },
  {
    route: "POST /dtx/{xid}/start",
    how: "resuming",
    bring: suspended,
    verb: plain((late, xid) => late.start(xid, { resume: true })),
    told: "command-invalid",
  },
  { route: "POST /dtx/{xid}/end", how: "plainly", bring: working, verb: plain((late, xid) => late.end(xid)), told },
  {
    route: "POST /dtx/{xid}/end",
    how: "suspending",
    bring: working,
    verb: plain((late, xid) => late.end(xid, { suspend: true })),
    told,
  },
  {
    route: "POST /dtx/{xid}/end",
    how: "failing",
    bring: working,
    verb: plain((late, xid) => late.end(xid, { fail: true })),
    told,
  },
  { route: "POST /dtx/{xid}/prepare", how: "idle", bring: idle, verb: plain((late, xid) => late.prepare(xid)), told },
  {
    route: "POST /dtx/{xid}/commit",
    how: "one phase",
    bring: idle,
    verb: plain((late, xid) => late.commit(xid, { onePhase: true })),
    told,
  },
  {
    route: "POST /dtx/{xid}/commit",
    how: "two phases",
    bring: prepared,
    verb: plain((late, xid) => late.commit(xid)),
    told,
  },
  { route: "POST /dtx/{xid}/rollback", how: "idle", bring: idle, verb: plain((late, xid) => late.rollback(xid)), told },
  {
    route: "POST /dtx/{xid}/rollback",
    how: "prepared",
    bring: prepared,
    verb: plain((late, xid) => late.rollback(xid)),
    told,
  },
  {
    route: "POST /dtx/{xid}/heuristic",
    how: "prepared",
    bring: prepared,
    verb: plain((late, xid) => late.heuristic(xid, "commit")),
    told,
  },
  {
    route: "POST /dtx/{xid}/forget",
    how: "decided",
    bring: heuristic,
    verb: plain((late, xid) => late.forget(xid)),
    told,
  },
];

/** What fits any branch: it is told from one of now only by what it had met. */
const fitsAny: readonly Case[] = [
  {
    route: "PUT /dtx/{xid}/timeout",
    how: "at work",
    bring: working,
    verb: plain((late, xid) => late.setTimeout(xid, 200)),
  },
];

const joining: Row = {
  carries: "incarnation",
  route: "POST /dtx/{xid}/start",
  how: "joining; the next one can be joined too",
  toldUnderWay: ["unavailable"],
  async make(stage) {
    const session = await attached(stage);
    const other = await attached(stage);
    const { xid } = await working(other);
    return {
      knowsBy: `XID#${xid}`,
      send: () => lateOf(stage, session).start(xid, { join: true }),
      async next() {
        await rollBack(other, xid);
        await working(other, xid);
      },
    };
  },
};

const startingAnew: Row = {
  carries: "incarnation",
  route: "POST /dtx/{xid}/start",
  how: "anew; another session has started it meanwhile",
  told: "not-allowed",
  toldUnderWay: ["not-allowed"],
  async make(stage) {
    const [session, other] = [await attached(stage), await attached(stage)];
    const xid = newXid();
    return {
      send: () => lateOf(stage, session).start(xid),
      async next() {
        await working(other, xid);
      },
    };
  },
};

/** Every verb that names a branch, after that branch ended and another one of its xid began. */
export const incarnationRows: readonly Row[] = [
  ...cases.map(ofAnother),
  ...[...cases, ...fitsAny].map(likeTheFirst),
  joining,
  startingAnew,
];
