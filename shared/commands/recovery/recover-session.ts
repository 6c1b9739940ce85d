import { readBranch } from "../../records/branch.ts";
import type { Item } from "../../records/write.ts";
import type { Context } from "../context.ts";
import { pickBranches } from "../dtx/branch-items.ts";
import { readable } from "./readable.ts";
import { recoverItem } from "./recover-item.ts";
import { type Recovery, Report } from "./report.ts";

/** Branches that are recovered at the same time. */
const AT_ONCE = 8;

/**
 * Recovers the branches in which a session worked at any epoch, and tells which branches cannot be read at all, for its
 * own may be among them. Once the list is full the work still goes on.
 */
export const recoverSession = async (context: Context, session: string): Promise<Recovery> => {
  const items = await pickBranches(context, (item) => (mayBeOf(item, session) ? item : undefined));
  const report = new Report(context);
  let isCut = false;
  for (let at = 0; at < items.length; at += AT_ONCE) {
    if (report.isLate()) return report.partly();
    const batch = items.slice(at, at + AT_ONCE);
    for (const recovered of await Promise.all(batch.map((item) => recoverItem(context, item)))) {
      const isListed = recovered.is === "in-doubt" || recovered.is === "unreadable";
      if (isListed && report.isFull()) isCut = true;
      else await report.add(recovered);
    }
  }
  return isCut ? report.partly() : report.whole();
};

const mayBeOf = (item: Item, session: string): boolean => {
  const branch = readable(() => readBranch(item));
  return branch === undefined || branch.workers.some((worker) => worker.name === session);
};
