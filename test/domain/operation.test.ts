import { describe, expect, it } from "vitest";
import { type Add, messagesIn, type Remove } from "../../shared/domain/operation.ts";

const add: Add = {
  kind: "add",
  id: "o",
  queue: "q",
  generation: "g",
  partition: 0,
  sizes: [1, 2, 3],
  overheadBytes: 0,
  messageIdBase: "base",
  ttlSeconds: [0, 0, 0],
  deduplications: [],
  payload: { kind: "inline", bytes: new Uint8Array() },
};
const remove: Remove = {
  kind: "remove",
  id: "o",
  run: { name: "q", generation: "g", partition: 0, position: 0 },
  indexes: [4, 5],
  bytes: 0,
  isWhole: false,
};

describe("an operation", () => {
  it("is about as many messages as it adds or removes", () => {
    expect(messagesIn(add)).toBe(3);
    expect(messagesIn(remove)).toBe(2);
  });
});
