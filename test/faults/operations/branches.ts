/** The verbs of branches, each in the states that it fits. */
import type { InSession, Stage } from "../../interleavings/scenario.ts";
import { attached } from "../../interleavings/scenes.ts";
import { expectOk, expectXa } from "../../support/moves.ts";
import { newXid } from "../../support/names.ts";
import type { Operation } from "../operation.ts";
import { BYTES, idle, inSession, onBranch, prepared, type Work, type Working, working } from "./making.ts";

const large: Work = { bytes: BYTES };
const limited: Work = { settings: { maxMessages: 6 } };
const short: Work = { timeoutSeconds: 60 };
const PAST_SHORT_MS = 61_000;

const suspended = async (stage: Stage): Promise<Working> => {
  const scene = await working(stage);
  expectXa(await inSession(stage.client, scene).end(scene.x, { suspend: true }), "XA_OK");
  return scene;
};

const doomed = async (stage: Stage): Promise<Working> => {
  const scene = await working(stage);
  expectXa(await inSession(stage.client, scene).end(scene.x, { fail: true }), "XA_RBROLLBACK");
  return scene;
};

const timedOut = async (stage: Stage): Promise<Working> => {
  const scene = await working(stage, short);
  stage.wait(PAST_SHORT_MS);
  return scene;
};

const idleTimedOut = async (stage: Stage): Promise<Working> => {
  const scene = await idle(stage, short);
  stage.wait(PAST_SHORT_MS);
  return scene;
};

const decided = async (stage: Stage): Promise<Working> => {
  const scene = await prepared(stage);
  expectOk(await stage.client.heuristic(scene.x, "commit"));
  return scene;
};

/** A branch that publishes more than there is room for. */
const full = (stage: Stage): Promise<Working> => idle(stage, { ofB: { maxMessages: 2 } });

const starting: readonly Operation[] = [
  {
    route: "POST /dtx/{xid}/start",
    how: "a new branch",
    async setUp(stage) {
      const session = await stage.lastingSession();
      const x = newXid();
      return { look: { branches: { x } }, send: (c) => inSession(c, session).start(x, { timeoutSeconds: 3600 }) };
    },
  },
  {
    route: "POST /dtx/{xid}/start",
    how: "an xid that was committed before",
    async setUp(stage) {
      const { a, b, x, ...session } = await prepared(stage);
      expectOk(await stage.client.commit(x));
      return {
        look: { queues: { a, b }, branches: { x } },
        send: (c) => inSession(c, session).start(x, { timeoutSeconds: 3600 }),
      };
    },
  },
  {
    route: "POST /dtx/{xid}/start",
    how: "joining",
    async setUp(stage) {
      const { a, b, x } = await working(stage);
      const other: InSession = await attached(stage, 86_400);
      return {
        look: { queues: { a, b }, branches: { x } },
        send: (c) => inSession(c, other).start(x, { join: true }),
      };
    },
  },
  onBranch("POST /dtx/{xid}/start", "resuming", suspended, (c, { x }) => c.start(x, { resume: true })),
];

const ending: readonly Operation[] = [
  onBranch("POST /dtx/{xid}/end", "plainly", working, (c, { x }) => c.end(x)),
  onBranch("POST /dtx/{xid}/end", "suspending", working, (c, { x }) => c.end(x, { suspend: true })),
  onBranch("POST /dtx/{xid}/end", "failing", working, (c, { x }) => c.end(x, { fail: true })),
  onBranch("POST /dtx/{xid}/end", "past its deadline", timedOut, (c, { x }) => c.end(x)),
];

const preparing: readonly Operation[] = [
  onBranch("POST /dtx/{xid}/prepare", "idle", idle, (c, { x }) => c.prepare(x)),
  onBranch(
    "POST /dtx/{xid}/prepare",
    "on limited queues",
    (stage) => idle(stage, limited),
    (c, { x }) => c.prepare(x),
    {
      isLimited: true,
    },
  ),
  onBranch("POST /dtx/{xid}/prepare", "on a full queue", full, (c, { x }) => c.prepare(x)),
  onBranch("POST /dtx/{xid}/prepare", "doomed", doomed, (c, { x }) => c.prepare(x)),
  onBranch("POST /dtx/{xid}/prepare", "past its deadline", idleTimedOut, (c, { x }) => c.prepare(x)),
];

const commit = "POST /dtx/{xid}/commit";
const rollback = "POST /dtx/{xid}/rollback";

const finishing: readonly Operation[] = [
  onBranch(commit, "in two phases", prepared, (c, { x }) => c.commit(x)),
  onBranch(
    commit,
    "in two phases, with large headers",
    (stage) => prepared(stage, large),
    (c, { x }) => c.commit(x),
  ),
  onBranch(
    commit,
    "in two phases, on limited queues",
    (stage) => prepared(stage, limited),
    (c, { x }) => c.commit(x),
    {
      isLimited: true,
    },
  ),
  onBranch(commit, "in one phase", idle, (c, { x }) => c.commit(x, { onePhase: true })),
  onBranch(
    commit,
    "in one phase, on limited queues",
    (stage) => idle(stage, limited),
    (c, { x }) => c.commit(x, { onePhase: true }),
    { isLimited: true },
  ),
  onBranch(commit, "in one phase, on a full queue", full, (c, { x }) => c.commit(x, { onePhase: true })),
  onBranch(rollback, "idle", idle, (c, { x }) => c.rollback(x)),
  onBranch(
    rollback,
    "prepared, with large headers",
    (stage) => prepared(stage, large),
    (c, { x }) => c.rollback(x),
  ),
  onBranch(
    rollback,
    "prepared, on limited queues",
    (stage) => prepared(stage, limited),
    (c, { x }) => c.rollback(x),
    {
      isLimited: true,
    },
  ),
  onBranch(rollback, "past its deadline", idleTimedOut, (c, { x }) => c.rollback(x)),
];

const deciding: readonly Operation[] = [
  onBranch("POST /dtx/{xid}/heuristic", "commit", prepared, (c, { x }) => c.heuristic(x, "commit")),
  onBranch("POST /dtx/{xid}/heuristic", "rollback", prepared, (c, { x }) => c.heuristic(x, "rollback")),
  onBranch("POST /dtx/{xid}/forget", "decided", decided, (c, { x }) => c.forget(x)),
];

const looking: readonly Operation[] = [
  onBranch("GET /dtx", "with one in doubt", prepared, (c) => c.recoverPage()),
  onBranch("GET /dtx/{xid}", "at work", working, (c, { x }) => c.getBranch(x)),
  onBranch("GET /dtx/{xid}", "past its deadline", timedOut, (c, { x }) => c.getBranch(x)),
  onBranch("GET /dtx/{xid}/timeout", "at work", working, (c, { x }) => c.getTimeout(x)),
  onBranch("PUT /dtx/{xid}/timeout", "at work", working, (c, { x }) => c.setTimeout(x, 1800)),
];

export const branches: readonly Operation[] = [
  ...starting,
  ...ending,
  ...preparing,
  ...finishing,
  ...deciding,
  ...looking,
];
