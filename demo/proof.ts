import { createHash } from "node:crypto";
import type { Piece } from "./lines.ts";

/** What arrived, held against what was sent. */
export interface Proof {
  readonly isProved: boolean;
  /** Lines for a reader, the numbers and checksums. */
  readonly report: readonly string[];
}

/** What the service still has when all is over. */
export interface Leftovers {
  readonly messages: number;
  readonly inDoubt: number;
}

/**
 * Every line arrived exactly once and in order: the same pieces in the same order, so many of each as were sent, the bytes
 * the file's own. Checked one by one and, independently of that, by the checksum of everything.
 */
export function prove(sent: readonly Piece[], arrived: readonly Piece[], left: Leftovers, file: Uint8Array): Proof {
  const counts = new Map<string, number>();
  for (const piece of arrived) counts.set(nameOf(piece), (counts.get(nameOf(piece)) ?? 0) + 1);
  const missing = sent.filter((piece) => !counts.has(nameOf(piece))).length;
  const twice = arrived.length - counts.size;
  const unknown = counts.size - (sent.length - missing);
  const misplaced = arrived.filter((piece, i) => i > 0 && isBefore(piece, arrived[i - 1])).length;
  const sums = [sha256([file]), sha256(arrived.map(({ bytes }) => bytes))];
  const isProved =
    [missing, twice, unknown, misplaced, left.messages, left.inDoubt].every((count) => count === 0) &&
    sums[0] === sums[1];
  const row = (what: string, pieces: readonly Piece[], sum: string | undefined) => {
    const bytes = pieces.reduce((n, piece) => n + piece.bytes.length, 0);
    return `${what.padEnd(8)} ${linesIn(pieces)} lines, ${bytes} bytes, sha256 ${sum}`;
  };
  return {
    isProved,
    report: [
      row("sent", sent, sums[0]),
      row("arrived", arrived, sums[1]),
      `missing ${missing}, twice ${twice}, unknown ${unknown}, out of order ${misplaced}; left on queues ${left.messages}, in doubt ${left.inDoubt}`,
    ],
  };
}

const nameOf = ({ line, part }: Piece): string => `${line}/${part}`;

const isBefore = (piece: Piece, other: Piece | undefined): boolean =>
  other !== undefined && (piece.line < other.line || (piece.line === other.line && piece.part < other.part));

const linesIn = (pieces: readonly Piece[]): number => new Set(pieces.map(({ line }) => line)).size;

const sha256 = (parts: readonly Uint8Array[]): string => {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest("hex");
};
