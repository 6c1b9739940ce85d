import type { Standing } from "../domain/run.ts";
import type { Dead } from "./change-run.ts";

/** Messages that are to go: all of them are settled, the dead ones among them move to the dead-letter queue. */
export interface Over {
  readonly settled: readonly number[];
  readonly dead: readonly Dead[];
}

/** What time or their deliveries have ended of these messages, each with its standing; a dead letter takes `note` along. */
export const overOf = (indexes: readonly number[], standings: readonly Standing[], note?: string): Over => {
  const settled: number[] = [];
  const dead: Dead[] = [];
  for (const [i, index] of indexes.entries()) {
    const standing = standings[i];
    if (standing !== "dropped" && standing !== "expired" && standing !== "exhausted") continue;
    settled.push(index);
    if (standing === "dropped") continue;
    const reason = standing === "expired" ? "expired" : "max-deliveries";
    dead.push({ index, reason, ...(note !== undefined && { note }) });
  }
  return { settled, dead };
};

/** The same, of all messages of a run. */
export const overOfAll = (standings: readonly Standing[]): Over => overOf([...standings.keys()], standings);
