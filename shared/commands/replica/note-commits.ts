import { changesShard, countChanges } from "../../records/replica.ts";
import { commitOf, journalKey, noteSeen, readJournal } from "../../records/replication.ts";
import { absent, type Item, type Write } from "../../records/write.ts";
import { type Store, Unavailable } from "../../store/port.ts";
import { commitFed, fitting, type Step, sizeOf, TURNS } from "./commit-fed.ts";

const JOURNALS_PER_COMMIT = 80;
/** Commits that a process remembers to have noted. */
const NOTED = 10_000;

/** What the images tell of one commit. */
interface Told {
  readonly commit: string;
  /** Its journal, when it is among them. */
  journal?: Item;
  /** They have a record that it wrote: it happened. */
  isSeen: boolean;
}

/** Stores the journals among the images, and notes on the replica which commits they show to have happened. */
export const noteCommits = async (replica: Store, images: readonly Item[], noted: Set<string>): Promise<void> => {
  let left: readonly Told[] = toldBy(images).filter(({ commit }) => !noted.has(commit));
  for (let turns = 0; left.length > 0; turns++) {
    if (turns === TURNS) throw new Unavailable("others note the same commits all the time");
    const steps = fitting(await planned(replica, left.slice(0, JOURNALS_PER_COMMIT)));
    const fence = countChanges(changesShard(steps[0]?.commit ?? ""), 0);
    const writes = steps.flatMap((step) => step.writes);
    if (!(await commitFed(replica, fence, writes))) continue;
    if (noted.size > NOTED) noted.clear();
    for (const { commit, isNoted } of steps) if (isNoted) noted.add(commit);
    left = left.slice(steps.length);
    turns = -1;
  }
};

const toldBy = (images: readonly Item[]): readonly Told[] => {
  const all = new Map<string, Told>();
  const told = (commit: string): Told => {
    const known = all.get(commit) ?? { commit, isSeen: false };
    all.set(commit, known);
    return known;
  };
  for (const image of images) {
    const journal = readJournal(image);
    if (journal !== undefined) {
      const of = told(journal.commit);
      of.journal = image;
      of.isSeen ||= journal.isSeen;
    }
    const commit = commitOf(image);
    if (commit !== undefined) told(commit).isSeen = true;
  }
  return [...all.values()];
};

interface NotingStep extends Step {
  readonly commit: string;
  /** False of one without a journal, too: it may get it yet, from a copy. */
  readonly isNoted: boolean;
}

const planned = async (replica: Store, told: readonly Told[]): Promise<readonly NotingStep[]> => {
  const found = await replica.readAll(told.map(({ commit }) => journalKey(commit)));
  return told.map((each, i) => ({
    commit: each.commit,
    isNoted: each.isSeen && (found[i] ?? each.journal) !== undefined,
    writes: writesOf(each, found[i]),
    bytes: sizeOf(found[i] ?? each.journal),
  }));
};

const writesOf = ({ commit, journal, isSeen }: Told, found: Item | undefined): readonly Write[] => {
  if (found !== undefined) return isSeen && found.ex !== true ? [noteSeen(commit)] : [];
  if (journal === undefined) return [];
  const item = isSeen ? { ...journal, ex: true } : journal;
  return [{ kind: "put", key: journalKey(commit), item, require: [absent], otherwise: "reload" }];
};
