import { type Branch, hasWork, type Outcome, step } from "../../domain/branch.ts";
import { RECORDS_PER_COMMIT } from "../../domain/limits.ts";
import type { Operation } from "../../domain/operation.ts";
import { deleteBlock, readBlock, readBranch, shortenBlock, writeBranch } from "../../records/branch.ts";
import { blockKey, branchKey, runKey } from "../../records/keys.ts";
import { Unreadable } from "../../records/reading.ts";
import type { Write } from "../../records/write.ts";
import { Unavailable } from "../../store/port.ts";
import type { Context } from "../context.ts";
import { deleteChunksOf } from "../payload.ts";
import { corrected, recordsOf, seen } from "./apply-at-once.ts";
import { type Effects, effectsOf, type Facts, removalsOf } from "./effects.ts";
import { addsOf, countRemovals, loadQueues, redirectAdds } from "./gather.ts";

/** Records of one commit that are not an operation's: the branch, its block, and what was not foreseen. */
const OTHERS = 5;
/** How often one block is tried while others change what it meets. */
const ROUNDS = 20;

/**
 * Applies or undoes a branch that is larger than one commit: one commit a block, which also deletes or shortens the block
 * in the branch, so that each operation is applied once whoever goes on. The branch without work, or undefined when others
 * have brought it to its end. Throws `Unavailable` when the call's time is over: the next one goes on.
 */
export const applyAside = async (context: Context, first: Branch, outcome: Outcome): Promise<Branch | undefined> => {
  let branch = first;
  while (hasWork(branch)) {
    if (context.now() >= context.stopAtMs) throw new Unavailable(`the work on branch ${branch.xid} goes on`);
    const next = await applyPart(context, branch, outcome);
    if (next === undefined || next.incarnation !== first.incarnation) return undefined;
    if (next.state.name !== first.state.name) return undefined;
    branch = next;
  }
  return branch;
};

/** One part, by us or by others: the branch after it, undefined when it is gone. */
const applyPart = async (context: Context, branch: Branch, outcome: Outcome): Promise<Branch | undefined> => {
  const [block] = branch.blocks;
  const operations = block === undefined ? branch.operations : await loadBlock(context, branch, block);
  if (operations === undefined) return reload(context, branch);
  const { part, rest } = split(operations);
  let facts = await factsFor(context, branch, part, outcome);
  for (let round = 0; round < ROUNDS; round++) {
    const effects = effectsOf(facts);
    const after = shortened(branch, block, rest, effects);
    const ending = writeBranch(branch, after);
    const commit = await context.store.commit([ending, ...blockWrites(branch, block, rest), ...effects.writes]);
    if (commit.done) {
      await deleteChunksOf(context, effects.orphans);
      return after;
    }
    if (commit.failures.some(({ write }) => write === ending)) return reload(context, branch);
    facts = corrected(facts, commit.failures);
  }
  throw new Unavailable(`branch ${branch.xid} meets others at every attempt`);
};

/** A block of operations; undefined when the branch went on without us and it is gone. */
const loadBlock = async (
  context: Context,
  branch: Branch,
  block: number,
): Promise<readonly Operation[] | undefined> => {
  const key = blockKey(branch.xid, branch.incarnation, block);
  const item = await context.store.read(key);
  if (item !== undefined) return readBlock(item);
  const now = await reload(context, branch);
  if (now?.version === branch.version) throw new Unreadable({ ...key }, "a block that its branch lists is not there");
  return undefined;
};

const reload = async (context: Context, branch: Branch): Promise<Branch | undefined> => {
  const item = await context.store.read(branchKey(branch.xid));
  return item && readBranch(item);
};

/** As many of the operations as one commit takes, at least one. */
const split = (operations: readonly Operation[]): { part: readonly Operation[]; rest: readonly Operation[] } => {
  let size = 1;
  while (size < operations.length && recordsOf(operations.slice(0, size + 1)) + OTHERS <= RECORDS_PER_COMMIT) size++;
  return { part: operations.slice(0, size), rest: operations.slice(size) };
};

const blockWrites = (branch: Branch, block: number | undefined, rest: readonly Operation[]): readonly Write[] => {
  if (block === undefined) return [];
  return [rest.length === 0 ? deleteBlock(branch, block) : shortenBlock(branch, block, rest)];
};

const shortened = (branch: Branch, block: number | undefined, rest: readonly Operation[], effects: Effects): Branch => {
  const { state } = branch;
  const isBlockDone = block !== undefined && rest.length === 0;
  return step(branch, {
    blocks: isBlockDone ? branch.blocks.slice(1) : branch.blocks,
    operations: block === undefined ? rest : branch.operations,
    ...(state.name === "deciding" && {
      state: {
        ...state,
        decision: {
          ...state.decision,
          positions: effects.positions,
          dropped: state.decision.dropped + effects.dropped,
        },
      },
    }),
  });
};

const factsFor = async (
  context: Context,
  branch: Branch,
  operations: readonly Operation[],
  outcome: Outcome,
): Promise<Facts> => {
  const decision = branch.state.name === "deciding" ? branch.state.decision : undefined;
  const decidedAtMs = decision?.decidedAtMs ?? context.now();
  const positions = decision?.positions ?? {};
  const adds = outcome === "commit" ? addsOf(operations) : [];
  const told = removalsOf(operations);
  const [queues, items] = await Promise.all([
    loadQueues(context, operations),
    context.store.readAll([...told.values()].map((removal) => runKey(removal.key))),
  ]);
  // Positions were taken when it was decided; the queue may have gone since.
  const redirects = await redirectAdds(context, adds, positions, queues, decidedAtMs);
  const facts: Facts = {
    outcome,
    incarnation: branch.incarnation,
    decidedAtMs,
    operations,
    removals: told,
    positions,
    queues,
    redirects,
    taken: new Set(),
    // Depth was reserved when the branch was prepared or, in one phase, with the decision.
    isReserved: decision?.isReserved ?? false,
  };
  // What is held of a run ends all at once, also what other blocks list of it: they will find it ended.
  const removals = new Map([...told].map(([name, removal], i) => [name, seen(facts, removal, items[i])]));
  if (outcome === "commit") await countRemovals(context, removals.values());
  return { ...facts, removals };
};
