import { type Branch, isUndoing } from "../../domain/branch.ts";
import { branchPrefix } from "../../records/keys.ts";
import type { Item } from "../../records/write.ts";
import { Unavailable } from "../../store/port.ts";
import type { Context } from "../context.ts";
import { recoverBranch } from "../dtx/meet.ts";
import { hasChanged } from "../dtx/operations.ts";
import { type InDoubt, replay } from "./in-doubt.ts";

/** What recovery made of one branch. */
export type Recovered =
  | { readonly is: "nothing" | "finished" | "rolled-back" }
  | { readonly is: "in-doubt"; readonly branch: Branch; readonly preparedAtMs: number }
  /** Others are at it or time ran out: a later run goes on. */
  | { readonly is: "left" }
  | { readonly is: "unreadable"; readonly xid: string };

/** Finishes what is decided, undoes what is doomed, finds what is in doubt; never touches a live or decides a prepared one. */
export const recoverItem = (context: Context, item: Item): Promise<Recovered> =>
  contained(xidIn(item), async () => {
    const { branch, did } = await recoverBranch(context, item);
    if (branch?.state.name === "prepared") {
      return { is: "in-doubt", branch, preparedAtMs: branch.state.preparedAtMs };
    }
    if (branch !== undefined && (branch.state.name === "deciding" || isUndoing(branch))) return { is: "left" };
    return { is: did };
  });

/** The mappings of a branch that is in doubt; `nothing` when it was decided since. */
export const replayItem = async (
  context: Context,
  branch: Branch,
  preparedAtMs: number,
  maxBytes: number,
): Promise<Recovered | { readonly is: "replayed"; readonly inDoubt: InDoubt }> => {
  const replayed = await contained(branch.xid, async () => ({
    is: "replayed" as const,
    inDoubt: await replay(context, branch, preparedAtMs, maxBytes),
  }));
  // A branch that was decided while it was read lacks what its end has taken away.
  return replayed.is === "unreadable" && (await hasChanged(context, branch)) ? { is: "nothing" } : replayed;
};

/** The xid of a branch's record, also when nothing else in it can be read. */
export const xidIn = (item: Item): string => String(item.sk).slice(branchPrefix.length);

/** One broken record stops nothing else, whatever is broken about it; neither does one that is contended. */
const contained = async <T>(
  xid: string,
  work: () => Promise<T>,
): Promise<T | { readonly is: "left" } | { readonly is: "unreadable"; readonly xid: string }> => {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Unavailable) return { is: "left" };
    return { is: "unreadable", xid };
  }
};
