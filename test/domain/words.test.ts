import { describe, expect, it } from "vitest";
import { fnv1a } from "../../shared/domain/hash.ts";
import { isName, isReserved, NAME_SHAPE } from "../../shared/domain/name.ts";
import { isRefusal, refusalCodes, refuse, refuseFields } from "../../shared/domain/refusal.ts";
import { Unavailable } from "../../shared/domain/unavailable.ts";

describe("a name", () => {
  it.each(["a", "Z", "9", "a.b", "_-.", "..a", "...", "x".repeat(127)])("may be %s", (name) => {
    expect(isName(name)).toBe(true);
  });

  it.each(["", ".", "..", "a b", "a/b", "a#b", "ä", "a\n", " a", "a ", "x".repeat(128)])("may not be %j", (name) => {
    expect(isName(name)).toBe(false);
  });

  it("says what it may be", () => {
    expect(NAME_SHAPE).toBe("must be 1 to 127 characters of A-Z a-z 0-9 . _ -, not . or ..");
  });

  it("is reserved when it begins with amq.", () => {
    expect(["amq.direct", "amq.", "amq", "x.amq.", "AMQ.direct"].map(isReserved)).toEqual([
      true,
      true,
      false,
      false,
      false,
    ]);
  });
});

describe("the hash of a text", () => {
  // FNV-1a of these texts, 32 bits (offset basis for the empty one), each folded by its own high bits.
  it.each([
    ["", 0x811c9dc5],
    ["a", 0xe40c292c],
    ["foobar", 0xbf9cf968],
  ])("%j is its FNV-1a, folded", (text, plain) => {
    expect(fnv1a(text)).toBe((plain ^ (plain >>> 15)) >>> 0);
  });

  it("is a whole number of 32 bits, and spreads names over shards", () => {
    const hashes = Array.from({ length: 1600 }, (_, i) => fnv1a(`queue-${i}`));
    expect(hashes.every((hash) => Number.isInteger(hash) && hash >= 0 && hash < 2 ** 32)).toBe(true);
    const shards = Map.groupBy(hashes, (hash) => hash % 16);
    expect(shards.size).toBe(16);
    for (const inShard of shards.values()) expect(inShard.length).toBeGreaterThan(50);
  });
});

describe("a refusal", () => {
  it("is a value, told from everything else", () => {
    expect(refuse("not-found", "no queue q")).toEqual({ refusal: "not-found", detail: "no queue q" });
    expect(isRefusal(refuse("not-found", "no queue q"))).toBe(true);
    expect([undefined, null, "refusal", 1, {}, { refused: true }].map(isRefusal)).toEqual(new Array(6).fill(false));
  });

  it("of fields says where each is wrong, or only what is wrong with the whole", () => {
    const errors = [
      { path: "messages[3].body", message: "is required" },
      { path: "", message: "the body is not JSON" },
    ];
    expect(refuseFields(...errors)).toEqual({
      refusal: "invalid-argument",
      detail: "messages[3].body is required; the body is not JSON",
      errors,
    });
  });

  it("is one of the contract's codes", () => {
    expect(refusalCodes.toSorted()).toEqual(
      [
        ...["unauthorized", "forbidden", "payload-too-large", "invalid-argument", "not-found", "session-fenced"],
        ...["command-invalid", "not-allowed", "illegal-state", "precondition-failed", "idempotency-key-reused"],
        ...["no-route", "resource-limit-exceeded", "too-many-requests", "unavailable", "internal-error"],
      ].sort(),
    );
  });
});

describe("what is unavailable", () => {
  it("is an error of its own name", () => {
    expect(new Unavailable("the table throttled")).toMatchObject({
      name: "Unavailable",
      message: "the table throttled",
    });
  });
});
