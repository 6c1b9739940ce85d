import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Operation } from "../../shared/domain/operation.ts";
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

  it("is one text, and beside it only the bodies and the dead-letter queue that it has", () => {
    const add = {
      kind: "add",
      id: "o",
      queue: "q",
      generation: "g",
      partition: 2,
      sizes: [5, 5],
      overheadBytes: 7,
      messageIdBase: "base",
      ttlSeconds: [0, 0],
      deduplications: [[0, "d"]],
      payload: { kind: "chunks", owner: "x", firsts: [0] },
    } as const;
    const bytes = new Uint8Array([1]);
    const chunks = '["a","o","q","g",2,2,"2*5",7,"base","",[[0,"d"]],"x","0"]';
    const bare = '["a","o","q","g",2,2,"2*5",7,"base","",[[0,"d"]]]';
    const remove = {
      kind: "remove",
      id: "o",
      run: { name: "q", generation: "g", partition: 2, position: 9 },
      indexes: [1, 2],
      bytes: 8,
      isWhole: true,
    } as const;
    const cases: readonly (readonly [Operation, Value])[] = [
      [add, { j: chunks }],
      [
        { ...add, deadLetterQueue: "dlq" },
        { j: chunks, d: "dlq" },
      ],
      [
        { ...add, payload: { kind: "inline", bytes } },
        { j: bare, b: bytes },
      ],
      [
        { ...add, payload: { kind: "inline", bytes }, deadLetterQueue: "dlq" },
        { j: bare, b: bytes, d: "dlq" },
      ],
      [{ ...add, ttlSeconds: [0, 3] }, { j: chunks.replace('"",', '"0,3",') }],
      [remove, { j: '["r","o","q","g",2,9,"1-2",8,1]' }],
      [
        { ...remove, payload: { kind: "chunks", owner: "x", firsts: [0, 3] } },
        { j: '["r","o","q","g",2,9,"1-2",8,1,"x","0,3"]' },
      ],
    ];
    for (const [operation, value] of cases) {
      expect(operationValue(operation)).toStrictEqual(value);
      expect(readOperation({ ...key }, value)).toStrictEqual(operation);
    }
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
