import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bytes, isMap, json, list, map, text, Unreadable, whole, wholeOrZero } from "../../shared/records/reading.ts";
import { pack, packIndexes, unpack, unpackAny, unpackIndexes } from "../../shared/records/repeats.ts";
import { itemBytes } from "../../shared/records/size.ts";
import { absent, atVersion, type Item, present, type Value } from "../../shared/records/write.ts";

describe("lists whose neighbours are alike", () => {
  it.each<[readonly number[], string]>([
    [[], ""],
    [[0], "0"],
    [[7, 7, 7], "3*7"],
    [[1, 2, 2, 1, 1], "1,2*2,2*1"],
    [[10, 10, 0], "2*10,0"],
  ])("%j are packed as %j", (values, packed) => {
    expect(pack(values)).toBe(packed);
    expect(unpackAny(packed)).toEqual(values);
    expect(unpack(packed, values.length)).toEqual(values);
  });

  it.each<[readonly number[], string]>([
    [[], ""],
    [[5], "5"],
    [[0, 1, 2], "0-2"],
    [[0, 1, 2, 3, 4, 7], "0-4,7"],
    [[0, 2, 4, 5], "0,2,4-5"],
    [[98, 99], "98-99"],
  ])("ascending indexes %j are packed as %j", (indexes, packed) => {
    expect(packIndexes(indexes)).toBe(packed);
    expect(unpackIndexes(packed)).toEqual(indexes);
  });

  it("read back as they were, whatever they are", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(3)), fc.uniqueArray(fc.nat(99)), (values, indexes) => {
        const ascending = indexes.toSorted((a, b) => a - b);
        expect(unpackAny(pack(values))).toEqual(values);
        expect(unpackIndexes(packIndexes(ascending))).toEqual(ascending);
      }),
    );
  });

  it.each(["x", "1,x", "1*", "*1", "2*3x", "x2*3", "1,,2", "-1", "1-2"])("are not %j", (packed) => {
    expect(() => unpackAny(packed)).toThrow("is not a count and a number");
  });

  it.each(["x", "0,x", "0-", "-1", "0-2x", "x0-2", "0,,1", "2*1"])("are no indexes as %j", (packed) => {
    expect(() => unpackIndexes(packed)).toThrow("is not an index or a range");
  });

  it("are as many as is known of them", () => {
    expect(() => unpack("3*1", 2)).toThrow("stands for 3 values, not 2");
    expect(() => unpack("", 1)).toThrow("stands for 0 values, not 1");
  });
});

describe("the size of an item, by the table's rules", () => {
  it.each<[string, Item, number]>([
    ["of nothing", {}, 0],
    ["of an attribute that is left out", { gone: undefined }, 0],
    ["of a text: its bytes in UTF-8, and its name's", { ä: "öß" }, 2 + 4],
    ["of true, false and null: one each", { a: true, b: false, c: null }, 3 + 3],
    ["of numbers: a byte for two digits, and two", { a: 0, b: 123, c: 1234 }, 3 + 3 + 4 + 4],
    ["of bytes: themselves", { a: new Uint8Array(10) }, 11],
    ["of a list: 3, and 1 more an element", { a: ["x", "yz"] }, 1 + 3 + 2 + 3],
    ["of an empty list", { a: [] }, 1 + 3],
    ["of a map: 3, its names and 1 more an element", { a: { b: "x", cd: "yz" } }, 1 + 3 + 2 + 1 + 4 + 1],
    ["of an empty map", { a: {} }, 1 + 3],
    ["of a map in a list", { a: [{ b: 1 }] }, 1 + 3 + 1 + 3 + 1 + 1 + 3],
  ])("%s", (_, item, size) => {
    expect(itemBytes(item)).toBe(size);
  });
});

describe("reading an attribute", () => {
  const item = (a?: Value): Item => ({ pk: "P", sk: "S", ...(a !== undefined && { a }) });
  const b = new Uint8Array([1]);

  it.each<[string, (of: Item, attribute: string) => unknown, readonly Value[], readonly (Value | undefined)[], string]>(
    [
      ["a text", text, ["", "x"], [undefined, null, 1, b, ["x"]], "a is not a string"],
      ["a whole number", whole, [0, -1, 2 ** 53 - 1], [undefined, "1", 1.5, 2 ** 53, null], "a is not an integer"],
      ["bytes", bytes, [b], [undefined, "x", [1], null], "a is not binary"],
      ["a list", list, [[], ["x"]], [undefined, "x", { x: 1 }, b, null], "a is not a list"],
      ["a map", map, [{}, { x: 1 }], [undefined, "x", 1, ["x"], b, null], "a is not a map"],
    ],
  )("as %s gives it, or says what it is not", (_, read, good, broken, problem) => {
    for (const value of good) expect(read(item(value), "a")).toBe(value);
    for (const value of broken) {
      expect(() => read(item(value), "a")).toThrow(new Unreadable(item(), problem));
    }
  });

  it("tells a map from everything else", () => {
    expect([{}, { x: 1 }].map((value) => isMap(value))).toEqual([true, true]);
    expect([undefined, null, "x", 1, true, [], b].map((value) => isMap(value))).toEqual(new Array(7).fill(false));
  });

  it("takes a number that is left out for 0, and nothing else", () => {
    expect([wholeOrZero(item(), "a"), wholeOrZero(item(3), "a")]).toEqual([0, 3]);
    expect(() => wholeOrZero(item(null), "a")).toThrow(Unreadable);
  });

  it("of JSON gives what it says, or says that it is none", () => {
    expect(json(item('{"x":[1]}'), "a")).toEqual({ x: [1] });
    expect(() => json(item("["), "a")).toThrow(new Unreadable(item(), "a is not JSON"));
    expect(() => json(item(1), "a")).toThrow(new Unreadable(item(), "a is not a string"));
  });

  it("that cannot be read names the record, for whoever lists it", () => {
    const error = new Unreadable(item(), "is broken");
    expect(error).toMatchObject({
      name: "Unreadable",
      message: "record P S: is broken",
      key: { pk: "P", sk: "S" },
    });
  });
});

describe("the terms that most writes require", () => {
  it("are these", () => {
    expect([absent, present, atVersion(3)]).toEqual([
      { is: "absent" },
      { is: "present" },
      { is: "version", version: 3 },
    ]);
  });
});
