import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseXid, xidParts } from "../../shared/domain/xid.ts";

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");
const formatIds = fc.nat(2_147_483_647);
const gtrids = fc.uint8Array({ minLength: 1, maxLength: 64 }).map(hex);
const bquals = fc.uint8Array({ maxLength: 64 }).map(hex);

describe("an xid", () => {
  it.each([
    ["the example of the contract", "1.6f7264657273.01"],
    ["an empty bqual", "7.00ff."],
    ["format id 0", "0.00."],
    ["the largest format id", "2147483647.00.00"],
    ["64 bytes of each part", `1.${"ab".repeat(64)}.${"00".repeat(64)}`],
  ])("may have %s", (_, text) => {
    expect(parseXid(text)).toBe(text);
  });

  it.each([
    ["nothing", ""],
    ["no bqual and no dot for it", "1.00"],
    ["an empty gtrid", "1..00"],
    ["no format id", ".00.00"],
    ["a format id past 2^31-1", "2147483648.00.00"],
    ["a format id with a leading zero", "01.00.00"],
    ["a negative format id", "-1.00.00"],
    ["a format id with a sign", "+1.00.00"],
    ["half a byte", "1.0.00"],
    ["half a byte of bqual", "1.00.0"],
    ["capital hex", "1.0A.00"],
    ["what is not hex", "1.xy.00"],
    ["65 bytes of gtrid", `1.${"00".repeat(65)}.`],
    ["65 bytes of bqual", `1.00.${"00".repeat(65)}`],
    ["a fourth part", "1.00.00.00"],
    ["a space before", " 1.00.00"],
    ["a line feed after", "1.00.00\n"],
  ])("may not have %s", (_, text) => {
    expect(parseXid(text)).toBeUndefined();
  });

  it("keeps every byte of its parts", () => {
    fc.assert(
      fc.property(formatIds, gtrids, bquals, (formatId, gtrid, bqual) => {
        const xid = parseXid(`${formatId}.${gtrid}.${bqual}`);
        expect(xid).toBe(`${formatId}.${gtrid}.${bqual}`);
        expect(xid && xidParts(xid)).toEqual({ formatId, gtrid, bqual });
      }),
    );
  });

  it("is equal to another exactly when all three parts are", () => {
    const parts = fc.tuple(fc.nat(3), fc.constantFrom("00", "0000", "01"), fc.constantFrom("", "00", "01"));
    fc.assert(
      fc.property(parts, parts, (a, b) => {
        expect(parseXid(a.join(".")) === parseXid(b.join("."))).toBe(a.every((part, i) => part === b[i]));
      }),
    );
  });
});
