/**
 * The branch's record: `v`, `inc` incarnation, `st` state (JSON), `by` starting session, `to` timeout (s), `dl` deadline
 * (ms), `as` associations (JSON: session, epoch, `a` active or `s` suspended), `wk` workers (JSON), `bl` blocks (JSON),
 * `ops` operations (a list of JSON texts), `ob` their bytes, `n` messages. `op` is the word of the state. Names of sessions
 * are never attributes' names: some would mean something to JavaScript.
 */
import type { Association, Branch, BranchState } from "../domain/branch.ts";
import type { Operation } from "../domain/operation.ts";
import type { SessionRef } from "../domain/session.ts";
import { parseXid } from "../domain/xid.ts";
import { blockKey, branchKey, branchPrefix } from "./keys.ts";
import { operationBytes, operationValue, readOperation } from "./operation.ts";
import { json, list, text, Unreadable, whole } from "./reading.ts";
import { absent, atVersion, type Item, type Term, type Write } from "./write.ts";

export const putNewBranch = (branch: Branch): Write => ({
  kind: "put",
  key: branchKey(branch.xid),
  item: branchItem(branch),
  require: [absent],
  otherwise: "reload",
});

/** This very version of this very life of the branch. */
const asRead = (before: Branch): readonly Term[] => [
  { is: "equal", path: ["inc"], value: before.incarnation },
  atVersion(before.version),
];

export const writeBranch = (before: Branch, after: Branch): Write => ({
  kind: "put",
  key: branchKey(before.xid),
  item: branchItem(after),
  require: asRead(before),
  otherwise: "reload",
});

export const deleteBranch = (before: Branch): Write => ({
  kind: "delete",
  key: branchKey(before.xid),
  require: asRead(before),
  otherwise: "reload",
});

const workersText = (workers: readonly SessionRef[]): string => JSON.stringify(workers.map((w) => [w.name, w.epoch]));

export const branchItem = (branch: Branch): Item => {
  const ops = branch.operations.map(operationValue);
  return {
    v: branch.version,
    inc: branch.incarnation,
    op: branch.state.name,
    ...(branch.state.name !== "open" && { st: JSON.stringify(branch.state) }),
    by: branch.session,
    to: branch.timeoutSeconds,
    dl: branch.deadlineMs,
    as: JSON.stringify(branch.associations.map((a) => [a.name, a.epoch, a.isSuspended ? "s" : "a"])),
    wk: workersText(branch.workers),
    ...(branch.blocks.length > 0 && { bl: JSON.stringify(branch.blocks) }),
    ops,
    ob: operationBytes(ops),
    n: branch.messages,
  };
};

export const readBranch = (item: Item): Branch => {
  const xid = parseXid(text(item, "sk").slice(branchPrefix.length));
  if (xid === undefined) throw new Unreadable(item, "its key is not an xid");
  return {
    xid,
    incarnation: text(item, "inc"),
    version: whole(item, "v"),
    state: readState(item),
    session: text(item, "by"),
    timeoutSeconds: whole(item, "to"),
    deadlineMs: whole(item, "dl"),
    associations: readAssociations(item),
    workers: tuples(item, "wk").map((tuple) => refOf(item, tuple)),
    blocks: "bl" in item ? readBlocks(item) : [],
    operations: list(item, "ops").map((value) => readOperation(item, value)),
    messages: whole(item, "n"),
  };
};

const stateNames = ["open", "rollback-only", "timed-out", "prepared", "deciding", "heuristic"];

const readState = (item: Item): BranchState => {
  const name = text(item, "op");
  if (!stateNames.includes(name)) throw new Unreadable(item, `op is ${name}`);
  if (name === "open") return { name };
  const state = json(item, "st") as BranchState | null;
  if (state?.name !== name) throw new Unreadable(item, "st and op differ");
  return state;
};

const readAssociations = (item: Item): readonly Association[] =>
  tuples(item, "as").map((tuple) => {
    const [, , word] = tuple;
    if (word !== "a" && word !== "s") throw new Unreadable(item, "as is broken");
    return { ...refOf(item, tuple), isSuspended: word === "s" };
  });

/** A JSON list of lists. */
const tuples = (item: Item, attribute: string): readonly (readonly unknown[])[] => {
  const value = json(item, attribute);
  if (!Array.isArray(value) || !value.every(Array.isArray)) throw new Unreadable(item, `${attribute} is broken`);
  return value;
};

const refOf = (item: Item, [name, epoch]: readonly unknown[]): SessionRef => {
  if (typeof name !== "string" || !Number.isSafeInteger(epoch)) throw new Unreadable(item, "a session is broken");
  return { name, epoch: Number(epoch) };
};

const readBlocks = (item: Item): readonly number[] => {
  const blocks = json(item, "bl");
  if (!Array.isArray(blocks) || !blocks.every(Number.isSafeInteger)) throw new Unreadable(item, "bl is broken");
  return blocks;
};

/** Operations put aside: what they are is decided by the branch's version, so a repeated put changes nothing. */
export const putBlock = (branch: Branch, operations: readonly Operation[]): Write => ({
  kind: "put",
  key: blockKey(branch.xid, branch.incarnation, branch.version),
  item: { ops: operations.map(operationValue) },
  require: [],
  otherwise: "reload",
});

/** Puts back what is left of a block, beside the branch's own write that says which part was applied. */
export const shortenBlock = (branch: Branch, block: number, rest: readonly Operation[]): Write => ({
  kind: "put",
  key: blockKey(branch.xid, branch.incarnation, block),
  item: { ops: rest.map(operationValue) },
  require: [],
  otherwise: "reload",
});

export const readBlock = (item: Item): readonly Operation[] =>
  list(item, "ops").map((value) => readOperation(item, value));

export const deleteBlock = (branch: Branch, block: number): Write => ({
  kind: "delete",
  key: blockKey(branch.xid, branch.incarnation, block),
  require: [],
  otherwise: "reload",
});
