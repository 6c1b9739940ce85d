import { type Journal, journalPrefix, readJournal } from "../../records/replication.ts";
import type { Item } from "../../records/write.ts";

/** A journal without what it holds. */
export type Commit = Omit<Journal, "writes">;

/**
 * The commits that happened, in their order: those of which the replica saw anything, and those that they came after. The
 * others never happened, as far as this store knows: nothing of them is here.
 */
export const happened = (commits: readonly Commit[]): readonly Commit[] => {
  const byCommit = new Map(commits.map((commit) => [commit.commit, commit]));
  const found = new Set<Commit>();
  const left = commits.filter(({ isSeen }) => isSeen);
  for (let one = left.pop(); one !== undefined; one = left.pop()) {
    if (found.has(one)) continue;
    found.add(one);
    // What is not here any more was over long before the stream lost anything.
    for (const commit of one.after) {
      const before = byCommit.get(commit);
      if (before !== undefined) left.push(before);
    }
  }
  return [...found].toSorted((a, b) => a.stamp - b.stamp);
};

export const commitsAmong = (items: readonly Item[]): readonly Commit[] =>
  items.flatMap((item): Commit[] => {
    const journal = String(item.pk).startsWith(journalPrefix) ? readJournal(item) : undefined;
    if (journal === undefined) return [];
    const { writes: _, ...commit } = journal;
    return [commit];
  });
