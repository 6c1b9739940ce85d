import type { Branch } from "../../domain/branch.ts";
import type { Operation } from "../../domain/operation.ts";
import { readBlock } from "../../records/branch.ts";
import { blockKey, branchKey } from "../../records/keys.ts";
import { Unreadable } from "../../records/reading.ts";
import type { Context } from "../context.ts";

/**
 * All operations of a branch in their order. A block that is not there was applied already when the branch is deciding or
 * being undone; of any other branch it is `Unreadable`, unless the branch has changed since it was read: then what is
 * found is given, for nothing that names the branch's version can be written from it any more.
 */
export const loadOperations = async (context: Context, branch: Branch): Promise<readonly Operation[]> => {
  const keys = branch.blocks.map((block) => blockKey(branch.xid, branch.incarnation, block));
  const items = await context.store.readAll(keys);
  if (items.includes(undefined) && !mayLackBlocks(branch) && !(await hasChanged(context, branch))) {
    throw new Unreadable({ ...branchKey(branch.xid) }, "one of its blocks is not there");
  }
  return [...items.flatMap((item) => (item === undefined ? [] : readBlock(item))), ...branch.operations];
};

/** Whether the branch is another one by now than it was when it was read. */
export const hasChanged = async (context: Context, branch: Branch): Promise<boolean> => {
  const item = await context.store.read(branchKey(branch.xid));
  return item?.inc !== branch.incarnation || item.v !== branch.version;
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
