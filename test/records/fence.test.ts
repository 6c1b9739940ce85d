import { describe, expect, it } from "vitest";
import { changed } from "../../shared/records/changed.ts";
import { countFenced, fenceShard, unfenceShard } from "../../shared/records/fence.ts";
import { changesKey, changesPk } from "../../shared/records/keys.ts";
import { changesShard, countChanges } from "../../shared/records/replica.ts";
import type { Item, Write } from "../../shared/records/write.ts";

const becomes = (item: Item, write: Write): Item => {
  if (write.kind !== "update") throw new Error("a fence is an update");
  return changed(item, write.change);
};

describe("the fence of a shard", () => {
  it("is put up, taken down and counted behind on the shard's counter, whatever is there", () => {
    for (const write of [fenceShard("03"), unfenceShard("03"), countFenced("03", 2)]) {
      expect(write).toMatchObject({
        kind: "update",
        key: { pk: "REPLICA#CHANGES", sk: "03" },
        require: [],
        otherwise: "reload",
      });
    }
  });

  it("keeps the count, and begins one where there is none", () => {
    expect(becomes({ n: 5 }, fenceShard("03"))).toEqual({ n: 5, fenced: true });
    expect(becomes({}, fenceShard("03"))).toEqual({ n: 0, fenced: true });
    expect(becomes({ n: 5, fenced: true }, unfenceShard("03"))).toEqual({ n: 5 });
    expect(becomes({ fenced: true }, unfenceShard("03"))).toEqual({ n: 0 });
    expect(becomes({ n: 5, fenced: true }, countFenced("03", 2))).toEqual({ n: 7, fenced: true });
  });

  it("lies where the feed counts", () => {
    expect(fenceShard("03").key).toEqual(countChanges("03", 1).key);
    expect(countChanges("03", 1).key).toEqual(changesKey("03"));
    expect(changesPk).toBe("REPLICA#CHANGES");
  });
});

describe("a commit of the feed", () => {
  const asked = { key: { pk: "REPLICA#CHANGES", sk: "03" }, require: [{ is: "lacks", path: ["fenced"] }] };

  it("asks that there is no fence, and counts if there is anything to count", () => {
    expect(countChanges("03", 0)).toEqual({ kind: "check", ...asked, otherwise: "reload" });
    expect(countChanges("03", 4)).toEqual({
      kind: "update",
      change: { add: [[["n"], 4]] },
      ...asked,
      otherwise: "reload",
    });
  });

  it("counts on one of 16 shards, always the same for the same partition key", () => {
    const pks = Array.from({ length: 300 }, (_, i) => `QUEUE#q${i}#g#0`);
    const names = Array.from({ length: 16 }, (_, i) => String(i).padStart(2, "0"));
    expect([...new Set(pks.map(changesShard))].sort()).toEqual(names);
    expect(["", "a", "foobar", "QUEUE#q#g#0"].map(changesShard)).toEqual(["12", "04", "01", "06"]);
  });
});
