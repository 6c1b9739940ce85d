import { type Branch, type StateName, stateNameOf } from "../../domain/branch.ts";
import type { Xid } from "../../domain/xid.ts";
import { readBranch } from "../../records/branch.ts";
import type { Context } from "../context.ts";
import { readable } from "../recovery/readable.ts";
import { xidIn } from "../recovery/recover-item.ts";
import { branchPages, type Place, type Placed } from "./branch-items.ts";

export interface ListedBranch {
  readonly xid: Xid;
  readonly state: StateName;
  readonly preparedAtMs: number;
  readonly session: string;
}

export interface ListPage {
  readonly branches: readonly ListedBranch[];
  /** The xids of branches whose record cannot be read: one of them may be prepared. */
  readonly unreadable: readonly string[];
  /** Where the listing goes on, when there may be more. */
  readonly next?: Place;
}

/**
 * The recover call: prepared and heuristically completed branches, in the order of the store. Places are keys, so pages
 * repeat nothing and miss nothing that was prepared all the while, whatever is finished in between.
 */
export const listPrepared = async (context: Context, limit: number, from: Place = { shard: 0 }): Promise<ListPage> => {
  const branches: ListedBranch[] = [];
  const unreadable: string[] = [];
  let next = from;
  for await (const page of branchPages(context, from)) {
    if (context.now() > context.stopAtMs) return { branches, unreadable, next };
    for (const placed of page) {
      const listed = look(placed);
      if (listed !== undefined && branches.length + unreadable.length === limit) return { branches, unreadable, next };
      if (typeof listed === "string") unreadable.push(listed);
      else if (listed !== undefined) branches.push(listed);
      next = placed.place;
    }
  }
  return { branches, unreadable };
};

/** What the listing says of a branch: nothing of most, only the xid of one that cannot be read. */
const look = ({ item }: Placed): ListedBranch | string | undefined => {
  const branch = readable(() => readBranch(item));
  return branch === undefined ? xidIn(item) : listedAs(branch);
};

const listedAs = (branch: Branch): ListedBranch | undefined => {
  const { xid, state, session } = branch;
  switch (state.name) {
    case "prepared":
    case "heuristic":
      return { xid, state: stateNameOf(branch), preparedAtMs: state.preparedAtMs, session };
    case "open":
    case "rollback-only":
    case "timed-out":
    case "deciding":
      return undefined;
  }
};
