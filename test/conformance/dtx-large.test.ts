import { afterEach, describe, expect, it } from "vitest";
import {
  type BranchSize,
  expectDelivered,
  type Finish,
  finishBranch,
  type LargeBranch,
  largeBranch,
  stopAfter,
} from "../support/large-branch.ts";
import { expectOk, stateOf } from "../support/moves.ts";
import { useServiceBehindProxy } from "../support/service.ts";

const service = useServiceBehindProxy();

afterEach(() => service.proxy.reset());

const verbs = ["commit", "rollback"] as const;

/** Stops the verb after `n` writes (or calls of the operation), kills everything, starts again; tells whether the verb had come to its end. */
async function stopAndRestart(branch: LargeBranch, finish: Finish, n: number, operation?: string): Promise<boolean> {
  const { ended } = await stopAfter(service.proxy, n, () => branch.c[finish](branch.xid), operation);
  await service.restart();
  return ended;
}

/** Finishes what a stop left behind: by recovery if the decision was recorded, else by the verb, as the owner would. */
async function finishByRecovery(branch: LargeBranch, finish: Finish): Promise<void> {
  expectOk(await branch.c.recovery());
  if ((await stateOf(branch.c, branch.xid)) === "prepared") await finishBranch(branch, finish);
}

describe("T-LARGE: 250 messages over three queues", () => {
  const size: BranchSize = { published: 250, taken: 100 };

  it.each(verbs)(
    "T-LARGE 250: %s, stopped at every chunk, each time in a branch of its own",
    async (finish) => {
      let chunks = 0;
      for (let ended = false; !ended; chunks += 1) {
        const branch = await largeBranch(service.client, size);
        ended = await stopAndRestart(branch, finish, chunks, "TransactWriteItems");
        await (chunks % 2 === 0 ? finishByRecovery(branch, finish) : finishBranch(branch, finish));
        await expectDelivered(branch, finish);
      }
      expect(chunks).toBeGreaterThan(2);
    },
    300_000,
  );

  it.each(verbs)(
    "T-LARGE 250: %s, every answer of the table lost once",
    async (finish) => {
      const branch = await largeBranch(service.client, size);
      service.proxy.loseAnswers();
      await finishBranch(branch, finish);
      service.proxy.reset();
      await expectDelivered(branch, finish);
    },
    120_000,
  );
});

describe("T-LARGE: 1,000 messages over three queues", () => {
  it.each(verbs)(
    "T-LARGE 1000: %s, stopped again and again, a little later each time",
    async (finish) => {
      const branch = await largeBranch(service.client, { published: 1000, taken: 200 });
      let stops = 0;
      for (let ended = false; !ended; stops += 1) ended = await stopAndRestart(branch, finish, stops + 1);
      expect(stops).toBeGreaterThan(2);
      await finishBranch(branch, finish);
      await expectDelivered(branch, finish);
    },
    300_000,
  );
});

describe("T-LARGE: 10,000 messages over three queues", () => {
  it.each(verbs)(
    "T-LARGE 10000: %s, stopped after 4, 8, 16 … writes",
    async (finish) => {
      const branch = await largeBranch(service.client, { published: 10_000, taken: 60 });
      let stops = 0;
      for (let ended = false; !ended; stops += 1) ended = await stopAndRestart(branch, finish, 4 * 2 ** stops);
      expect(stops).toBeGreaterThan(1);
      await finishBranch(branch, finish);
      await expectDelivered(branch, finish);
    },
    300_000,
  );
});
