import type { Branch } from "../../domain/branch.ts";
import type { Operation } from "../../domain/operation.ts";
import { readBlock } from "../../records/branch.ts";
import { blockKey, branchKey } from "../../records/keys.ts";
import { Unreadable } from "../../records/reading.ts";
import type { Context } from "../context.ts";

/**
 * All operations of a branch in their order. A block that is not there was applied already when the branch is deciding or
 * being undone; of any other branch it is `Unreadable`.
 */
export const loadOperations = async (context: Context, branch: Branch): Promise<readonly Operation[]> => {
  const keys = branch.blocks.map((block) => blockKey(branch.xid, branch.incarnation, block));
  const items = await context.store.readAll(keys);
  const aside = items.flatMap((item, i) => {
    if (item !== undefined) return readBlock(item);
    if (mayLackBlocks(branch)) return [];
    throw new Unreadable({ ...branchKey(branch.xid) }, `its block ${branch.blocks[i]} is not there`);
  });
  return [...aside, ...branch.operations];
};

const mayLackBlocks = (branch: Branch): boolean => {
  switch (branch.state.name) {
    case "deciding":
    case "rollback-only":
    case "timed-out":
      return true;
    case "open":
    case "prepared":
    case "heuristic":
      return false;
  }
};
