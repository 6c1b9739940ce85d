import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Association, Branch, BranchState } from "../../shared/domain/branch.ts";
import type { Operation } from "../../shared/domain/operation.ts";
import {
  branchItem,
  deleteBlock,
  deleteBranch,
  putBlock,
  putNewBranch,
  readBlock,
  readBranch,
  shortenBlock,
  writeBranch,
} from "../../shared/records/branch.ts";
import { blockKey, branchKey, branchPrefix } from "../../shared/records/keys.ts";
import { operationBytes, operationValue } from "../../shared/records/operation.ts";
import { Unreadable } from "../../shared/records/reading.ts";
import type { Item } from "../../shared/records/write.ts";
import { epochs, names, sessionRefs, times, tokens, xids } from "../support/arbitraries.ts";
import { operations } from "./operation-arbitraries.ts";
import { plain, stored } from "./stored.ts";

const outcomes = fc.constantFrom("commit" as const, "rollback" as const);

const states: fc.Arbitrary<BranchState> = fc.oneof(
  fc.record({ name: fc.constant("open" as const) }),
  fc.record({ name: fc.constant("rollback-only" as const), reason: fc.string() }),
  fc.record({ name: fc.constant("timed-out" as const), timedOutAtMs: times }),
  fc.record({ name: fc.constant("prepared" as const), preparedAtMs: times }),
  fc.record({
    name: fc.constant("deciding" as const),
    preparedAtMs: times,
    decision: fc.record({
      outcome: outcomes,
      decidedAtMs: times,
      leaves: fc.constantFrom("none" as const, "heuristic" as const),
      reason: fc.string(),
      isRepeatable: fc.boolean(),
      positions: fc.dictionary(
        fc.tuple(names, tokens, fc.nat(63)).map((parts) => parts.join("#")),
        fc.nat(),
      ),
      isReserved: fc.boolean(),
      dropped: fc.nat(),
    }),
  }),
  fc.record({
    name: fc.constant("heuristic" as const),
    outcome: outcomes,
    reason: fc.string(),
    preparedAtMs: times,
    completedAtMs: times,
  }),
);

const associations: fc.Arbitrary<Association> = fc.record({ name: names, epoch: epochs, isSuspended: fc.boolean() });

const branches: fc.Arbitrary<Branch> = fc.record({
  xid: xids,
  incarnation: tokens,
  version: fc.nat(Number.MAX_SAFE_INTEGER),
  state: states,
  session: names,
  timeoutSeconds: fc.nat(3600),
  deadlineMs: times,
  associations: fc.uniqueArray(associations, { selector: (a) => a.name, maxLength: 5 }),
  workers: fc.array(sessionRefs, { maxLength: 5 }),
  blocks: fc.array(fc.nat(Number.MAX_SAFE_INTEGER), { maxLength: 5 }),
  operations: fc.array(operations, { maxLength: 5 }),
  messages: fc.nat(100_000),
});

const asStored = (branch: Branch): Item => stored(branchKey(branch.xid), branchItem(branch));

describe("a branch's record", () => {
  it("reads back as the branch that was written, its xid byte for byte", () => {
    fc.assert(
      fc.property(branches, (branch) => {
        expect(plain(readBranch(asStored(branch)))).toEqual(plain(branch));
      }),
    );
  });

  it("is put where none is: another life of the xid must have come to its end", () => {
    fc.assert(
      fc.property(branches, (branch) => {
        expect(putNewBranch(branch)).toEqual({
          kind: "put",
          key: branchKey(branch.xid),
          item: branchItem(branch),
          require: [{ is: "absent" }],
          otherwise: "reload",
        });
      }),
    );
  });

  it("leaves out what an open branch without blocks does not have", () => {
    const [branch] = fc.sample(branches, { numRuns: 1, seed: 1 });
    if (branch === undefined) throw new Error("the arbitrary gives a branch");
    const item = branchItem({ ...branch, state: { name: "open" }, blocks: [] });
    expect(Object.keys(item).sort()).toEqual(["as", "by", "dl", "inc", "n", "ob", "op", "ops", "to", "v", "wk"]);
    expect(item.ob).toBe(operationBytes(branch.operations.map(operationValue)));
  });

  it("is changed only at the version and in the life that was read", () => {
    fc.assert(
      fc.property(branches, (branch) => {
        const require = [
          { is: "equal", path: ["inc"], value: branch.incarnation },
          { is: "version", version: branch.version },
        ];
        const after = { ...branch, version: branch.version + 1 };
        const common = { key: branchKey(branch.xid), require, otherwise: "reload" };
        expect(writeBranch(branch, after)).toEqual({ kind: "put", item: branchItem(after), ...common });
        expect(deleteBranch(branch)).toEqual({ kind: "delete", ...common });
      }),
    );
  });

  it.each<[string, Item, string?]>([
    ["a key that is no xid's", { sk: `${branchPrefix}1.0g.` }, "its key is not an xid"],
    ["no state", { op: undefined }],
    ["a state that nobody knows", { op: "limbo" }, "op is limbo"],
    ["a state and another", { op: "prepared", st: JSON.stringify({ name: "heuristic" }) }, "st and op differ"],
    ["a state without what belongs to it", { op: "prepared" }],
    ["a state that is null", { op: "prepared", st: "null" }, "st and op differ"],
    ["no incarnation", { inc: undefined }],
    ["no version", { v: undefined }],
    ["a deadline that is no number", { dl: "soon" }],
    ["associations that are no JSON", { as: "[" }],
    ["associations that are no list", { as: "{}" }, "as is broken"],
    ["an association that is neither active nor suspended", { as: JSON.stringify([["s", 1, "x"]]) }, "as is broken"],
    ["an association without an epoch", { as: JSON.stringify([["s", null, "a"]]) }, "a session is broken"],
    ["workers that are no list", { wk: "5" }, "wk is broken"],
    ["a worker without a name", { wk: JSON.stringify([[null, 1]]) }, "a session is broken"],
    ["blocks that are no numbers", { bl: JSON.stringify(["x"]) }, "bl is broken"],
    ["blocks of which one is no number", { bl: "[1, 1.5]" }, "bl is broken"],
    ["blocks that are no list", { bl: "7" }, "bl is broken"],
    ["operations that are no list", { ops: "none" }],
    ["an operation that is none", { ops: [{ j: "{}" }] }],
    ["no count of messages", { n: undefined }],
  ])("with %s is unreadable", (_, broken, problem = "") => {
    const [branch] = fc.sample(branches, { numRuns: 1, seed: 1 });
    if (branch === undefined) throw new Error("the arbitrary gives a branch");
    const good = asStored({ ...branch, state: { name: "open" } });
    expect(readBranch(good).xid).toBe(branch.xid);
    const read = () => readBranch({ ...good, ...broken });
    expect(read).toThrow(Unreadable);
    expect(read).toThrow(problem);
  });
});

describe("a block of operations", () => {
  const lists: fc.Arbitrary<readonly Operation[]> = fc.array(operations, { maxLength: 10 });

  it("reads back as it was put aside, under the version that the branch had then", () => {
    fc.assert(
      fc.property(branches, lists, (branch, list) => {
        const write = putBlock(branch, list);
        expect(write.key).toEqual(blockKey(branch.xid, branch.incarnation, branch.version));
        const item = write.kind === "put" ? stored(write.key, write.item) : {};
        expect(plain(readBlock(item))).toEqual(plain(list));
      }),
    );
  });

  it("lies in the branch's shard, outside what a listing of branches reads", () => {
    fc.assert(
      fc.property(branches, fc.nat(), (branch, block) => {
        const key = blockKey(branch.xid, branch.incarnation, block);
        expect(key.pk).toBe(branchKey(branch.xid).pk);
        expect(key.sk.startsWith(branchPrefix)).toBe(false);
      }),
    );
  });

  it("is put, shortened and deleted without a condition: the branch's own write beside it has one", () => {
    fc.assert(
      fc.property(branches, lists, (branch, list) => {
        const item = { ops: list.map(operationValue) };
        const key = blockKey(branch.xid, branch.incarnation, 7);
        const always = { require: [], otherwise: "reload" };
        expect(putBlock({ ...branch, version: 7 }, list)).toEqual({ kind: "put", key, item, ...always });
        expect(shortenBlock(branch, 7, list)).toEqual({ kind: "put", key, item, ...always });
        expect(deleteBlock(branch, 7)).toEqual({ kind: "delete", key, ...always });
      }),
    );
  });

  it("without operations is unreadable", () => {
    expect(() => readBlock({ pk: "TPL#00", sk: "OPS#1.00.#i#1" })).toThrow(Unreadable);
  });
});
