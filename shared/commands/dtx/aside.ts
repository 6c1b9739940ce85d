import type { Branch } from "../../domain/branch.ts";
import { deleteBlock, readBranch } from "../../records/branch.ts";
import { branchKey } from "../../records/keys.ts";
import type { Context } from "../context.ts";

/**
 * Takes away the block that was put aside at this version of a branch, for a write that did not come about, if nobody will
 * ever list it: the version has passed without. False when that may still happen.
 */
export const forgetAside = async (context: Context, aside: Branch, now: Branch | undefined): Promise<boolean> => {
  const isInVain =
    now?.incarnation !== aside.incarnation || (now.version > aside.version && !now.blocks.includes(aside.version));
  if (isInVain) await context.store.commit([deleteBlock(aside, aside.version)]);
  return isInVain;
};

/** The same, when the branch is not at hand as it is now. */
export const forgetAsideNow = async (context: Context, aside: Branch): Promise<boolean> => {
  const item = await context.store.read(branchKey(aside.xid));
  return forgetAside(context, aside, item && readBranch(item));
};
