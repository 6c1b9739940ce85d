import { shards } from "../../records/keys.ts";
import type { Context } from "../context.ts";
import { branchPages, type Place, shardPages } from "../dtx/branch-items.ts";
import { inTurn } from "../pages.ts";
import { recoverItem } from "./recover-item.ts";
import { type Recovery, Report } from "./report.ts";

/** Branches that are recovered at the same time. */
const AT_ONCE = 8;

/** Recovers the whole store from a place on, as far as one call and one answer go. Running twice, or twice at once, equals once. */
export const recoverPage = async (context: Context, from: Place = { shard: 0 }): Promise<Recovery> => {
  const report = new Report(context);
  let next = from;
  for await (const page of branchPages(context, from)) {
    for (let at = 0; at < page.length; at += AT_ONCE) {
      if (mustStop(report)) return report.partly(next);
      const batch = page.slice(at, at + AT_ONCE);
      const recovered = await Promise.all(batch.map(({ item }) => recoverItem(context, item)));
      for (const [i, { place }] of batch.entries()) {
        if (mustStop(report)) return report.partly(next);
        await report.add(recovered[i] ?? { is: "nothing" });
        next = place;
      }
    }
  }
  return report.whole();
};

const mustStop = (report: Report): boolean => report.isFull() || report.isLate();

/**
 * Recovers the whole store without listing anything, as far as one call goes. Each run begins at another shard, so that a
 * store too large for one run is done by several.
 */
export const recoverAll = async (
  context: Context,
): Promise<Pick<Recovery, "finished" | "rolledBack" | "unreadable">> => {
  const did = { finished: 0, rolledBack: 0, unreadable: [] as string[] };
  for (const shard of inTurn([...shards.keys()], context.now())) {
    for await (const page of shardPages(context, shard)) {
      for (let at = 0; at < page.length; at += AT_ONCE) {
        if (context.now() > context.stopAtMs) return did;
        const batch = page.slice(at, at + AT_ONCE);
        for (const recovered of await Promise.all(batch.map(({ item }) => recoverItem(context, item)))) {
          if (recovered.is === "finished") did.finished++;
          if (recovered.is === "rolled-back") did.rolledBack++;
          if (recovered.is === "unreadable") did.unreadable.push(recovered.xid);
        }
      }
    }
  }
  return did;
};
