import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { operationBytes, operationValue, readOperation } from "../../shared/records/operation.ts";
import { Unreadable } from "../../shared/records/reading.ts";
import type { Item, Value } from "../../shared/records/write.ts";
import { operations } from "./operation-arbitraries.ts";
import { plain, stored } from "./stored.ts";

const key = { pk: "TPL#00", sk: "XID#1.00." };

describe("an operation", () => {
  it("reads back as it was written", () => {
    fc.assert(
      fc.property(operations, (operation) => {
        const item = stored(key, { op: operationValue(operation) });
        expect(plain(readOperation(item, item.op ?? null))).toEqual(plain(operation));
      }),
    );
  });

  it("counts about the bytes that the table bills for it, never fewer than its own texts", () => {
    fc.assert(
      fc.property(operations, (operation) => {
        const value = operationValue(operation) as { j: string; b?: Uint8Array };
        expect(operationBytes([value])).toBeGreaterThanOrEqual(Buffer.byteLength(value.j) + (value.b?.length ?? 0));
      }),
    );
  });

  it.each<[Value, number]>([
    [{ j: "äb" }, 3 + 6],
    [{ j: "ab", b: new Uint8Array(10) }, 2 + 12 + 6],
    [{ j: "ab", d: "dead" }, 2 + 6 + 6],
    [{ j: "ab", b: new Uint8Array(10), d: "dead" }, 2 + 12 + 6 + 6],
    [{ b: "ab" }, 6],
    ["ab", 0],
  ])("%j counts for %i bytes", (value, size) => {
    expect(operationBytes([value])).toBe(size);
    expect(operationBytes([value, value])).toBe(2 * size);
  });

  it.each<[string, Value]>([
    ["an operation is broken: is not an operation", { j: 5 }],
    [
      "an operation is broken: it has no payload",
      { j: JSON.stringify(["a", "id", "q", "g", 0, 1, "5", 0, "b", "", []]) },
    ],
    [
      "an operation is broken: it has no payload",
      { j: JSON.stringify(["a", "id", "q", "g", 0, 1, "5", 0, "b", "", [], "owner"]) },
    ],
    [
      "an operation is broken: stands for 1 values, not 2",
      { j: JSON.stringify(["a", "id", "q", "g", 0, 2, "5", 0, "b", "", []]), b: new Uint8Array() },
    ],
    [
      "an operation is broken: stands for 1 values, not 2",
      { j: JSON.stringify(["a", "id", "q", "g", 0, 2, "2*5", 0, "b", "7", []]), b: new Uint8Array() },
    ],
  ])("is told apart: %s", (problem, value) => {
    expect(() => readOperation({ ...key, ops: [value] }, value)).toThrow(problem);
  });

  it.each<[string, Value]>([
    ["no map", "a"],
    ["nothing", null],
    ["without a text", { b: new Uint8Array() }],
    ["with what is no JSON", { j: "[" }],
    ["neither an add nor a remove", { j: JSON.stringify(["x", "id"]) }],
    ["no list", { j: "{}" }],
    ["an add without bodies or chunks", { j: JSON.stringify(["a", "id", "q", "g", 0, 1, "5", 0, "base", "", []]) }],
    ["an add of fewer sizes than messages", { j: JSON.stringify(["a", "id", "q", "g", 0, 2, "5", 0, "base", "", []]) }],
    ["a remove of what are no indexes", { j: JSON.stringify(["r", "id", "q", "g", 0, 0, "x", 5, 1]) }],
  ])("that is %s is unreadable", (_, value) => {
    const item: Item = { ...key, ops: [value] };
    expect(() => readOperation(item, value)).toThrow(Unreadable);
  });
});
