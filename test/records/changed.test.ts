import { describe, expect, it } from "vitest";
import { changed } from "../../shared/records/changed.ts";
import type { Change, Item } from "../../shared/records/write.ts";

const bytes = new Uint8Array([1, 2]);

describe("what a change makes of a record", () => {
  it.each<[string, Item, Change, Item]>([
    ["nothing, when it says nothing", { a: 1 }, {}, { a: 1 }],
    ["sets an attribute", { a: 1, b: 2 }, { set: [[["a"], "x"]] }, { a: "x", b: 2 }],
    ["sets one that was not there", { a: 1 }, { set: [[["b"], null]] }, { a: 1, b: null }],
    ["sets a name in a map", { m: { x: 1, y: 2 } }, { set: [[["m", "x"], 3]] }, { m: { x: 3, y: 2 } }],
    [
      "sets a name two maps deep",
      { m: { n: { x: 1, y: 2 }, z: 3 } },
      { set: [[["m", "n", "x"], bytes]] },
      { m: { n: { x: bytes, y: 2 }, z: 3 } },
    ],
    [
      "sets several",
      { a: 1 },
      {
        set: [
          [["a"], 2],
          [["b"], 3],
        ],
      },
      { a: 2, b: 3 },
    ],
    ["adds to a number", { n: 5 }, { add: [[["n"], -2]] }, { n: 3 }],
    ["adds to nothing as to 0", {}, { add: [[["n"], 7]] }, { n: 7 }],
    ["adds inside a map", { m: { n: 5 } }, { add: [[["m", "n"], 1]] }, { m: { n: 6 } }],
    ["appends in order", { l: ["a"] }, { append: [[["l"], ["b", "c"]]] }, { l: ["a", "b", "c"] }],
    ["appends inside a map", { m: { l: [] } }, { append: [[["m", "l"], [1]]] }, { m: { l: [1] } }],
    ["removes an attribute", { a: 1, b: 2 }, { remove: [["a"]] }, { b: 2 }],
    ["removes a name in a map", { m: { x: 1, y: 2 } }, { remove: [["m", "x"]] }, { m: { y: 2 } }],
    ["removes what is not there", { a: 1 }, { remove: [["b"]] }, { a: 1 }],
    [
      "does each of its parts",
      { a: 1, n: 1, l: [1], r: 1 },
      { set: [[["a"], 2]], add: [[["n"], 1]], append: [[["l"], [2]]], remove: [["r"]] },
      { a: 2, n: 2, l: [1, 2] },
    ],
  ])("%s", (_, item, change, after) => {
    const before = structuredClone(item);
    expect(changed(item, change)).toEqual(after);
    expect(item).toEqual(before);
  });

  it.each<[string, Item, Change, string]>([
    ["a path through what is not there", {}, { set: [[["m", "x"], 1]] }, "m is not a map"],
    ["a path through a text", { m: "x" }, { remove: [["m", "x"]] }, "m is not a map"],
    ["a path through a list", { m: [] }, { set: [[["m", "0"], 1]] }, "m is not a map"],
    ["a path through a number, further on", { m: { n: 1 } }, { add: [[["m", "n", "x"], 1]] }, "n is not a map"],
    ["adding to a text", { n: "1" }, { add: [[["n"], 1]] }, "what is added to is not a number"],
    ["adding to null", { n: null }, { add: [[["n"], 1]] }, "what is added to is not a number"],
    ["appending to nothing", {}, { append: [[["l"], [1]]] }, "what is appended to is not a list"],
    ["appending to a map", { l: {} }, { append: [[["l"], [1]]] }, "what is appended to is not a list"],
  ])("is an error for %s", (_, item, change, problem) => {
    expect(() => changed(item, change)).toThrow(new Error(problem));
  });
});
