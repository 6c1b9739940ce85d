/** Recovery itself, and branches that are larger than one table transaction. */

import type { Stage } from "../../interleavings/scenario.ts";
import { attached } from "../../interleavings/scenes.ts";
import type { InProcess } from "../../support/in-process.ts";
import { type Finish, type LargeBranch, largeBranch } from "../../support/large-branch.ts";
import type { Operation, Scene } from "../operation.ts";
import { numbered, queueOf, working } from "./making.ts";

/** Branches that nobody will end: of a session that has expired, and past its deadline; and m21, m22, whose time is over. */
const abandoned = async (stage: Stage): Promise<Scene> => {
  const session = await attached(stage, 60);
  const dead = await working(stage, { session });
  const late = await working(stage, { timeoutSeconds: 60 });
  const d = await queueOf(stage);
  const q = await queueOf(stage, [numbered(2, 20)], { messageTtlSeconds: 60, deadLetterQueue: d, maxMessages: 3 });
  stage.wait(61_000);
  return {
    look: {
      queues: { a1: dead.a, b1: dead.b, a2: late.a, b2: late.b, q, d },
      branches: { x1: dead.x, x2: late.x },
    },
  };
};

/** 240 messages taken of a run each and 30 published, on three queues. */
const large = (stage: Stage, taken = 240): Promise<LargeBranch> => largeBranch(stage.client, { published: 30, taken });

const lookAtLarge = ({ queues: [a = "", b = "", c = ""], xid }: LargeBranch) => ({
  queues: { a, b, c },
  branches: { x: xid },
});

const finishes = (finish: Finish): Operation => ({
  route: `POST /dtx/{xid}/${finish}`,
  how: "of 250 records",
  isLarge: true,
  async setUp(stage) {
    const branch = await large(stage);
    return { look: lookAtLarge(branch), send: (client) => client[finish](branch.xid) };
  },
});

/** So many table transactions into its commit: the decision and a part of it. */
const STOPPED_AFTER = 1;

const halfCommitted = async (stage: Stage, process: InProcess): Promise<Scene> => {
  const branch = await large(stage, 120);
  let transactions = 0;
  process.onCall = async (call, next) => {
    const isNext = call.operation === "TransactWriteItems";
    if (isNext && transactions === STOPPED_AFTER) {
      call.request.stop();
      return new Promise(() => {});
    }
    if (isNext) transactions += 1;
    return next();
  };
  await stage.client.commit(branch.xid);
  process.onCall = undefined;
  return { look: lookAtLarge(branch) };
};

export const recoveries: readonly Operation[] = [
  {
    route: "POST /recovery",
    how: "of branches that nobody will end",
    setUp: async (stage) => ({ ...(await abandoned(stage)), send: (client) => client.recovery() }),
  },
  { route: "schedule/recovery", how: "of what nobody will end", setUp: abandoned },
  {
    route: "POST /recovery",
    how: "of a large branch, half committed",
    isLarge: true,
    setUp: async (stage, process) => ({
      ...(await halfCommitted(stage, process)),
      send: (client) => client.recovery(),
    }),
  },
  finishes("commit"),
  finishes("rollback"),
];
