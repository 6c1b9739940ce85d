import { describe, expect, it } from "vitest";
import {
  appliedKey,
  bindingKey,
  bindingPrefix,
  blockKey,
  branchKey,
  branchPk,
  branchPrefix,
  capacityKey,
  changesKey,
  commandKey,
  commandListKey,
  commandListPk,
  commandOwner,
  commandPrefix,
  completionKey,
  completionPrefix,
  deduplicationKey,
  deletedMarkKey,
  deletedQueueKey,
  deletedQueuePk,
  exchangeKey,
  generationName,
  idempotencyKey,
  operationOwner,
  outcomeKey,
  partitionName,
  payloadKey,
  payloadPk,
  queueBindingKey,
  queueBindingsPk,
  runKey,
  runOwner,
  runPk,
  runSk,
  sessionKey,
  settingsKey,
  shards,
  storeKey,
  tailKey,
  tailShard,
} from "../../shared/records/keys.ts";
import { xid } from "../domain/branches.ts";

const queue = { name: "q", generation: "g" };
const partition = { ...queue, partition: 2 };
const run = { ...partition, position: 17 };

describe("where a record lies", () => {
  it.each([
    ["a queue's settings", settingsKey("q"), "QUEUE#q", "SETTINGS"],
    ["a queue's capacity", capacityKey(queue), "QUEUE#q", "CAPACITY#g"],
    ["a deleted queue", deletedQueueKey(queue), deletedQueuePk, "q#g"],
    ["a run", runKey(run), "QUEUE#q#g#2", "M#00000000000000000017"],
    ["a chunk of a run", payloadKey(runOwner(run), 3), "PAYLOAD#q#g#2#17", "0003"],
    ["a chunk of an operation", payloadKey(operationOwner(xid, "o"), 12), `PAYLOAD#${xid}@o`, "0012"],
    ["what a branch became", outcomeKey(xid), `OUTCOME#${xid}`, "OUTCOME"],
    ["a session", sessionKey("s"), "SESSION#s", "STATE"],
    ["a deduplication id", deduplicationKey(queue, "d"), "DEDUP#q#g#d", "DEDUP"],
    ["an idempotency key", idempotencyKey("p", "k"), "IDEMPOTENCY#p#k", "IDEMPOTENCY"],
    ["the store", storeKey, "STORE", "STATUS"],
    ["what a replica has applied, a shard", changesKey("07"), "REPLICA#CHANGES", "07"],
    ["a deleted queue, by one life of its name", deletedMarkKey(generationName(queue)), "DELETED", "q#g"],
    ["an exchange", exchangeKey("x"), "EXCHANGE#x", "SETTINGS"],
    ["a binding", bindingKey("x", "a.#", "q"), "EXCHANGE#x", "BINDING#a.##q"],
    ["a binding, by its queue", queueBindingKey("q", "x", "a.#"), queueBindingsPk("q"), "BINDING#x#a.#"],
    ["a command that is open", commandKey("s", 12), "SESSION#s", `${commandPrefix}00000000000000000012`],
    ["a completion", completionKey("s", 12), "SESSION#s", `${completionPrefix}00000000000000000012`],
    ["what was applied of the command queue", appliedKey("i"), "APPLIED#i", "APPLIED"],
  ])("%s", (_, key, pk, sk) => {
    expect(key).toEqual({ pk, sk });
  });

  it("is one of 16 shards for what is listed as a whole", () => {
    const names = Array.from({ length: 16 }, (_, i) => String(i).padStart(2, "0"));
    expect(shards).toEqual(names);
    const tails = Array.from({ length: 300 }, (_, i) => tailKey({ ...partition, name: `q${i}` }));
    expect([...new Set(tails.map(({ pk }) => pk))].sort()).toEqual(names.map(tailShard));
    expect(tailShard("07")).toBe("TAIL#07");
    expect(branchPk("07")).toBe("TPL#07");
    expect(commandListPk("07")).toBe("COMMANDS#07");
    expect(names.map(branchPk)).toContain(branchKey(xid).pk);
    expect(names.map(commandListPk)).toContain(commandListKey("s").pk);
    expect(commandListKey("s").sk).toBe("s");
  });

  it("is beside its branch for operations that were put aside, but not among the branches", () => {
    const block = blockKey(xid, "i", 9);
    expect(block).toEqual({ pk: branchKey(xid).pk, sk: `OPS#${xid}#i#9` });
    expect(branchKey(xid).sk).toBe(`${branchPrefix}${xid}`);
    expect(block.sk.startsWith(branchPrefix)).toBe(false);
  });

  it("is made of names that the parts of a queue bear", () => {
    expect([partitionName(partition), runPk(partition), runSk(5), tailKey(partition).sk]).toEqual([
      "q#g#2",
      "QUEUE#q#g#2",
      "M#00000000000000000005",
      "q#g#2",
    ]);
    expect([runOwner(run), payloadPk("o")]).toEqual(["q#g#2#17", "PAYLOAD#o"]);
    expect(commandOwner("s", "r")).toBe("s#r");
  });

  it("begins, among those that are listed, as the listing asks", () => {
    expect([commandPrefix, completionPrefix, bindingPrefix, branchPrefix, deletedQueuePk]).toEqual([
      "COMMAND#",
      "COMPLETION#",
      "BINDING#",
      "XID#",
      "DELETED",
    ]);
  });
});
