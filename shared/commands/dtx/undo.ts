import { type Branch, hasWork, step } from "../../domain/branch.ts";
import { writeBranch } from "../../records/branch.ts";
import type { Context } from "../context.ts";
import { sweepFreed } from "../queues/sweep-freed.ts";
import { applyAside } from "./apply-aside.ts";
import { commitAtOnce, fitsOneCommit } from "./apply-at-once.ts";
import { loadOperations } from "./operations.ts";

/**
 * Stores a branch as it was met (doomed by time or by a session's end) and undoes its work: in one commit when it fits,
 * else block by block after the doom is stored. The branch as stored then, or undefined when it was changed by others.
 */
export const carryOutDoom = async (context: Context, stored: Branch, doomed: Branch): Promise<Branch | undefined> => {
  const isDoomed = doomed.state.name === "rollback-only" || doomed.state.name === "timed-out";
  if (!isDoomed || !hasWork(doomed)) {
    const commit = await context.store.commit([writeBranch(stored, doomed)]);
    return commit.done ? doomed : undefined;
  }
  const operations = await loadOperations(context, stored);
  if (!fitsOneCommit(operations, stored.blocks)) {
    if (doomed !== stored) {
      const commit = await context.store.commit([writeBranch(stored, doomed)]);
      if (!commit.done) return undefined;
    }
    const left = await applyAside(context, doomed, "rollback");
    await sweepFreed(context, operations);
    return left;
  }
  const undone = doomed === stored ? step(doomed, {}) : doomed;
  const after: Branch = { ...undone, operations: [], blocks: [], messages: 0 };
  const done = await commitAtOnce(context, stored, operations, {
    outcome: "rollback",
    isReserved: false,
    nowMs: context.now(),
    endings: () => [writeBranch(stored, after)],
  });
  if (done !== "done") return undefined;
  await sweepFreed(context, operations);
  return after;
};
