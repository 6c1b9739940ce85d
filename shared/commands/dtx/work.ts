import { type Branch, step } from "../../domain/branch.ts";
import { BRANCH_OPERATIONS_BYTES, MESSAGES_PER_BRANCH } from "../../domain/limits.ts";
import { messagesIn, type Operation } from "../../domain/operation.ts";
import { isRefusal, type Refusal, refuse } from "../../domain/refusal.ts";
import { fence, type SessionRef } from "../../domain/session.ts";
import { mayWork } from "../../domain/verb.ts";
import type { Xid } from "../../domain/xid.ts";
import { putBlock, writeBranch } from "../../records/branch.ts";
import { operationBytes, operationValue } from "../../records/operation.ts";
import type { Write } from "../../records/write.ts";
import { type Consistency, Unavailable } from "../../store/port.ts";
import type { Context } from "../context.ts";
import { forgetAside } from "./aside.ts";
import { isNextLife, nextLife } from "./life.ts";
import { loadBranchAnd } from "./load.ts";
import { loadOperations } from "./operations.ts";

/** What a message call would do in the branch it met. */
export interface Work<R> {
  readonly operations: readonly Operation[];
  /** Writes that stand beside the branch's own. */
  readonly beside: readonly Write[];
  readonly result: R;
}

/** How often work begins anew because the branch, or what it works on, moved. */
const ROUNDS = 30;

/**
 * Does work of one session in a branch: one commit appends the operations and changes what they are about. `build` is asked
 * anew, with the branch as it then is, whenever something moved or nothing is to be written that would prove what was read;
 * it reads strongly then (`consistency`). Its result, or a refusal.
 */
export const workIn = async <R>(
  context: Context,
  xid: Xid,
  by: SessionRef,
  build: (branch: Branch, consistency: Consistency) => Promise<Work<R> | Refusal>,
): Promise<R | Refusal> => {
  let consistency: Consistency = "eventual";
  let attempted: { readonly ids: readonly string[]; readonly result: R } | undefined;
  let fit: Branch | undefined;
  // As it was when its operations were put aside for a write that did not come about.
  let aside: Branch | undefined;
  for (let round = 0; round < ROUNDS; round++) {
    const { branch, session } = await loadBranchAnd(context, xid, by, consistency);
    if (attempted !== undefined && branch !== undefined && (await lists(context, branch, attempted.ids))) {
      return attempted.result;
    }
    if (aside !== undefined && (await forgetAside(context, aside, branch))) aside = undefined;
    const refusal =
      fence(session, by, context.now()) ?? (isNextLife(fit, branch) ? nextLife(xid) : mayWork(branch, xid, by));
    if (refusal === undefined && branch !== undefined) {
      fit = branch;
      const work = await build(branch, consistency);
      const isProven =
        consistency === "strong" || (!isRefusal(work) && work.operations.length + work.beside.length > 0);
      if (isProven && !isRefusal(work)) {
        const appended = await append(context, branch, work);
        if (isRefusal(appended)) return appended;
        if (appended === "done") return work.result;
        if (goesAside(branch, work.operations)) aside = branch;
        attempted =
          appended === "maybe" ? { ids: work.operations.map(({ id }) => id), result: work.result } : undefined;
      } else if (isRefusal(work) && consistency === "strong") return work;
    } else if (consistency === "strong" && refusal !== undefined) {
      // What may have landed went with the branch, wherever that went: nobody may take its bodies for unused.
      if (attempted !== undefined) throw new Unavailable(`whether branch ${xid} took the work cannot be told any more`);
      return refusal;
    }
    consistency = "strong";
  }
  throw new Unavailable(`branch ${xid} is changed by others all the time`);
};

/** `maybe`: an attempt of ours may have landed, and the branch have changed since. */
const append = async <R>(
  context: Context,
  branch: Branch,
  { operations, beside }: Work<R>,
): Promise<"done" | "moved" | "maybe" | Refusal> => {
  const messages = branch.messages + operations.reduce((n, operation) => n + messagesIn(operation), 0);
  if (messages > MESSAGES_PER_BRANCH) {
    return refuse("resource-limit-exceeded", `a branch holds at most ${MESSAGES_PER_BRANCH} messages`);
  }
  const writes = operations.length === 0 ? [] : [await branchWrite(context, branch, operations, messages)];
  const commit = await context.store.commit([...writes, ...beside]);
  if (commit.done) return "done";
  return commit.repeated ? "maybe" : "moved";
};

const branchWrite = async (
  context: Context,
  branch: Branch,
  operations: readonly Operation[],
  messages: number,
): Promise<Write> => {
  if (!goesAside(branch, operations)) {
    return writeBranch(branch, step(branch, { operations: [...branch.operations, ...operations], messages }));
  }
  await context.store.commit([putBlock(branch, branch.operations)]);
  return writeBranch(branch, step(branch, { blocks: [...branch.blocks, branch.version], operations, messages }));
};

/** Whether what the branch lists must make room on its record for these operations. */
const goesAside = (branch: Branch, operations: readonly Operation[]): boolean => {
  if (branch.operations.length === 0 || operations.length === 0) return false;
  return operationBytes([...branch.operations, ...operations].map(operationValue)) > BRANCH_OPERATIONS_BYTES;
};

/** A branch that lists an operation has it, whoever wrote it since. */
const lists = async (context: Context, branch: Branch, ids: readonly string[]): Promise<boolean> => {
  const known = new Set((await loadOperations(context, branch)).map(({ id }) => id));
  return ids.length > 0 && ids.every((id) => known.has(id));
};
