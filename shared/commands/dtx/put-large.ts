import { randomBytes } from "node:crypto";
import { type Branch, type Decision, open } from "../../domain/branch.ts";
import type { EnqueueAnswer } from "../../domain/enqueued.ts";
import { BRANCH_TIMEOUT_SECONDS_DEFAULT } from "../../domain/limits.ts";
import type { Add } from "../../domain/operation.ts";
import { type Queue, queueName, wireSequence } from "../../domain/queue.ts";
import { type Refusal, refuse } from "../../domain/refusal.ts";
import { parseXid, type Xid } from "../../domain/xid.ts";
import { deleteBlock, putBlock, putNewBranch } from "../../records/branch.ts";
import { idempotencyKey, partitionName } from "../../records/keys.ts";
import type { Write } from "../../records/write.ts";
import { type Commit, Unavailable } from "../../store/port.ts";
import { Superseded } from "../asynchronous/guarded-store.ts";
import { besideOf } from "../beside.ts";
import type { Context } from "../context.ts";
import { type Deferred, findAnswer, rememberAnswer } from "../idempotency.ts";
import { deleteChunksOf, eachOf } from "../payload.ts";
import type { Put } from "../put.ts";
import { answerOf } from "../put-answer.ts";
import { recordsOf } from "./apply-at-once.ts";
import { finishDecided } from "./complete.ts";
import { partitionOfAdd } from "./effects.ts";
import { becameOn, type Listed, listAdds } from "./enqueue.ts";
import { loadQueues, takePositions } from "./gather.ts";
import { findFull, makeRoomForBranch, RESERVATIONS, reservations } from "./room.ts";

const QUEUES_AT_ONCE = 16;
/** How often room is made on ring queues that others fill at the same time. */
const ROUNDS_FOR_ROOM = 8;
/** Beside their reservations stand the branch, the answer's memory and the command. */
const LIMITED_QUEUES = RESERVATIONS - 3;
/** Records that the operations of one block touch: one commit applies it. */
const RECORDS_PER_BLOCK = 80;

/**
 * Puts messages that go to more queues than one commit takes: as a branch of its own that is decided from the first. One
 * write makes it count, all of it or nothing; then it is applied block by block, by this call, or by recovery when this one
 * is cut off (`completed: false` when its time is over before). `gone`: a queue was deleted, and nothing was put.
 */
export const putLarge = async (context: Context, put: Put): Promise<EnqueueAnswer | Deferred | Refusal | "gone"> => {
  const xid = ownXid();
  const listed: Listed[] = [];
  // A few queues at a time: the copies of large bodies would not fit in memory all at once.
  for (let at = 0; at < put.targets.length; at += QUEUES_AT_ONCE) {
    const some = put.targets.slice(at, at + QUEUES_AT_ONCE);
    listed.push(...(await Promise.all(some.map((target) => listAdds(context, target, xid, put.session)))));
  }
  const adds = listed.flatMap((one) => one.adds);
  const decided = await decideOrSuperseded(context, put, xid, listed, adds);
  if (decided instanceof Superseded || decided === "gone" || !("branch" in decided)) {
    await deleteChunksOf(
      context,
      adds.map((add) => add.payload),
    );
    if (decided instanceof Superseded) throw decided;
    return decided;
  }
  try {
    await finishDecided(context, decided.branch);
    return decided.answer;
  } catch (error) {
    // It is decided: others bring it to its end.
    if (error instanceof Unavailable) return { ...decided.answer, completed: false };
    throw error;
  }
};

/** Of the highest format, which nobody else's is likely to be, and random. */
const ownXid = (): Xid => {
  const xid = parseXid(`2147483647.${randomBytes(16).toString("hex")}.`);
  if (xid === undefined) throw new Error("an xid of our own is none");
  return xid;
};

const decideOrSuperseded = async (...given: Parameters<typeof decide>) => {
  try {
    return await decide(...given);
  } catch (error) {
    if (error instanceof Superseded) return error;
    throw error;
  }
};

interface Decided {
  readonly branch: Branch;
  readonly answer: EnqueueAnswer;
}

const decide = async (
  context: Context,
  put: Put,
  xid: Xid,
  listed: readonly Listed[],
  adds: readonly Add[],
): Promise<Decided | EnqueueAnswer | Deferred | Refusal | "gone"> => {
  for (let round = 0; round < ROUNDS_FOR_ROOM; round++) {
    const queues = await loadQueues(context, adds);
    if (listed.some(({ queue, adds: own }) => own.length > 0 && !queues.has(queueName(queue)))) return "gone";
    const reserving = reservations(adds, queues);
    if (reserving.length > LIMITED_QUEUES) {
      return refuse("resource-limit-exceeded", `a call puts on at most ${LIMITED_QUEUES} queues with limits`);
    }
    const full = await findFull(context, adds, queues);
    if (full.length > 0) {
      if (await makeRoomForBranch(context, adds, round === 0)) continue;
      // What time had ended may be gone from some of them by now.
      const [first] = [...(await findFull(context, adds, queues)), ...full];
      return fullOf(listed, first);
    }
    const positions = await takePositions(context, adds);
    if (adds.some((add) => positions[partitionName(partitionOfAdd(add))] === undefined)) return "gone";
    const branch = await putAside(context, put, xid, adds, positions);
    const sequenceOf = sequencesOf(listed, positions);
    const answer = answerOf(
      put.messages,
      [...listed.map((one) => becameOn(one, sequenceOf)), ...put.handedOn.map(({ became }) => became)],
      true,
    );
    const { idempotency } = put;
    const commit = await commitOf(context, branch, [
      putNewBranch(branch),
      ...reserving,
      ...(idempotency === undefined ? [] : [rememberAnswer(idempotency, answer, context.now())]),
      ...besideOf(context, { kind: "enqueued", answer }, { branch: xid }),
    ]);
    if (commit.done) return { branch, answer };
    await forgetAside(context, branch);
    const key = idempotency && idempotencyKey(idempotency.principal, idempotency.key);
    const isRepeat = key !== undefined && commit.failures.some(({ write }) => write.key.pk === key.pk);
    const known = isRepeat && idempotency !== undefined ? await findAnswer(context, idempotency) : undefined;
    if (known !== undefined) return known;
  }
  const [first] = await findFull(context, adds, await loadQueues(context, adds));
  return fullOf(listed, first);
};

/** What another attempt has decided already leaves this one's blocks to nobody. */
const commitOf = async (context: Context, branch: Branch, writes: readonly Write[]): Promise<Commit> => {
  try {
    return await context.store.commit(writes);
  } catch (error) {
    if (error instanceof Superseded) await forgetAside(context, branch);
    throw error;
  }
};

const forgetAside = (context: Context, branch: Branch): Promise<void> =>
  eachOf(branch.blocks, async (block) => {
    await context.store.commit([deleteBlock(branch, block)]);
  });

/** `queue`: the full one, unless others filled it and emptied it too fast to tell. */
const fullOf = (listed: readonly Listed[], queue?: Queue): Refusal =>
  refuse(
    "resource-limit-exceeded",
    queue === undefined ? `one of the ${listed.length} queues is full` : `queue ${queue.name} is full`,
  );

/** The branch, decided, with its operations in blocks that are stored. */
const putAside = async (
  context: Context,
  { session }: Put,
  xid: Xid,
  adds: readonly Add[],
  positions: Readonly<Record<string, number>>,
): Promise<Branch> => {
  const nowMs = context.now();
  const incarnation = randomBytes(6).toString("base64url");
  const by = session ?? { name: "", epoch: 0 };
  const branch = open(xid, incarnation, by, BRANCH_TIMEOUT_SECONDS_DEFAULT, nowMs);
  const blocks = blocksOf(adds).map((operations, i) => ({ version: branch.version + i, operations }));
  await eachOf(blocks, async ({ version, operations }) => {
    await context.store.commit([putBlock({ ...branch, version }, operations)]);
  });
  const decision: Decision = {
    outcome: "commit",
    decidedAtMs: nowMs,
    leaves: "none",
    reason: "published to many queues",
    isRepeatable: true,
    positions,
    isReserved: true,
    dropped: 0,
  };
  return {
    ...branch,
    version: branch.version + blocks.length,
    state: { name: "deciding", preparedAtMs: nowMs, decision },
    associations: [],
    workers: [],
    blocks: blocks.map(({ version }) => version),
    messages: adds.reduce((sum, add) => sum + add.sizes.length, 0),
  };
};

const blocksOf = (adds: readonly Add[]): readonly (readonly Add[])[] => {
  const blocks: Add[][] = [];
  for (const add of adds) {
    const last = blocks.at(-1);
    if (last !== undefined && recordsOf([...last, add]) <= RECORDS_PER_BLOCK) last.push(add);
    else blocks.push([add]);
  }
  return blocks;
};

/** The place of each copy: positions are given in the order of the operations, as the commit of each block will. */
const sequencesOf = (listed: readonly Listed[], positions: Readonly<Record<string, number>>) => {
  const next = new Map(Object.entries(positions));
  const places = new Map<Add, { readonly position: number; readonly partitions: number }>();
  for (const { queue, adds } of listed) {
    for (const add of adds) {
      const at = partitionName(partitionOfAdd(add));
      const position = next.get(at);
      if (position === undefined) throw new Error("a partition has no position");
      places.set(add, { position, partitions: queue.settings.partitions });
      next.set(at, position + add.sizes.length);
    }
  }
  return (add: Add, index: number): string | undefined => {
    const place = places.get(add);
    return place && wireSequence(place.position + index, add.partition, place.partitions);
  };
};
