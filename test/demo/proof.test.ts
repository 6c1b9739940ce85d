import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { batchesOf, messageOf, type Piece, pieceOf, piecesOf, requestsOf } from "../../demo/lines.ts";
import { prove } from "../../demo/proof.ts";

const file = Buffer.from("one\ntwo\n\nthree\r\nthree\r\nend");
const sent = piecesOf(file);
const clean = { messages: 0, inDoubt: 0 };

/** The pieces with some of them replaced. */
const changed = (change: (pieces: Piece[]) => void): readonly Piece[] => {
  const pieces = [...sent];
  change(pieces);
  return pieces;
};

describe("the proof", () => {
  test("holds for what arrived as it was sent", () => {
    expect(prove(sent, sent, clean, file).isProved).toBe(true);
  });

  test.each<[string, readonly Piece[]]>([
    ["a lost line", changed((pieces) => pieces.splice(1, 1))],
    ["a lost last line", sent.slice(0, -1)],
    ["a doubled line", changed((pieces) => pieces.splice(1, 0, ...pieces.slice(1, 2)))],
    ["two lines in the wrong order", changed((pieces) => pieces.splice(0, 2, ...pieces.slice(0, 2).toReversed()))],
    ["equal lines in the wrong order", changed((pieces) => pieces.splice(3, 2, ...pieces.slice(3, 5).toReversed()))],
    ["one of two equal lines instead of both", changed((pieces) => pieces.splice(3, 2, ...sent.slice(3, 4)))],
    ["a line that nobody sent", [...sent, { line: 99, part: 0, bytes: new Uint8Array() }]],
    ["a changed byte", changed((pieces) => pieces.splice(0, 1, { line: 0, part: 0, bytes: Buffer.from("onE\n") }))],
    ["nothing at all", []],
  ])("fails for %s", (_, arrived) => {
    expect(prove(sent, arrived, clean, file).isProved).toBe(false);
  });

  test("fails for what is left on a queue or in doubt", () => {
    expect(prove(sent, sent, { messages: 1, inDoubt: 0 }, file).isProved).toBe(false);
    expect(prove(sent, sent, { messages: 0, inDoubt: 1 }, file).isProved).toBe(false);
  });
});

const anyFile = fc.oneof(
  fc.uint8Array({ maxLength: 300 }),
  fc.string({ unit: "binary", maxLength: 300 }).map((text) => Buffer.from(text)),
  fc
    .array(fc.constantFrom("\n", "\r\n", "a", "ü", "\u0000"), { maxLength: 200 })
    .map((all) => Buffer.from(all.join(""))),
);

describe("lines", () => {
  test("joined again are the file, as messages too", () => {
    fc.assert(
      fc.property(anyFile, (bytes) => {
        const back = piecesOf(bytes).map((piece) => pieceOf(JSON.parse(JSON.stringify(messageOf(piece)))).bytes);
        expect(Buffer.concat(back)).toEqual(Buffer.from(bytes));
      }),
    );
  });

  test("are as many as line feeds, and one more when something follows the last", () => {
    expect(piecesOf(Buffer.from("")).length).toBe(0);
    expect(piecesOf(Buffer.from("\n\n")).length).toBe(2);
    expect(piecesOf(Buffer.from("a\nb")).length).toBe(2);
  });

  test("too long for a message are cut, in batches of whole lines and requests that fit", () => {
    const long = piecesOf(Buffer.concat([Buffer.from("first\n"), Buffer.alloc(6_000_000, 1), Buffer.from("\nlast")]));
    expect(new Set(long.map(({ line }) => line))).toEqual(new Set([0, 1, 2]));
    expect(batchesOf(long, 2).map((batch) => new Set(batch.map(({ line }) => line)).size)).toEqual([2, 1]);
    const requests = requestsOf(long.map(messageOf));
    expect(requests.length).toBeGreaterThan(1);
    expect(requests.flat().map(({ headers }) => headers)).toEqual(long.map(({ line, part }) => ({ line, part })));
    for (const messages of requests) {
      expect(Buffer.byteLength(JSON.stringify({ messages }))).toBeLessThan(5 * 1024 * 1024);
    }
  });
});
