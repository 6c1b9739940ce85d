import { isUtf8 } from "node:buffer";

/** A line of the file, or a part of one that is too long for a message. The bytes of all of them, joined, are the file. */
export interface Piece {
  readonly line: number;
  readonly part: number;
  /** With the line's end, CRLF or LF, if it has one. */
  readonly bytes: Uint8Array;
}

/** A message as the service takes and gives it; its headers say where it belongs. */
export interface Message {
  readonly messageId: string;
  readonly body: string;
  readonly bodyEncoding: "utf8" | "base64";
  readonly headers: { readonly line: number; readonly part: number };
}

/** Below the 1 MiB that a message may have. */
const PIECE_BYTES = 512 * 1024;
/** Below the 5 MiB that a request may have as sent. */
const REQUEST_BYTES = 4 * 1024 * 1024;
/** Below the 500 messages that a call may have. */
const REQUEST_MESSAGES = 400;

/** Cuts a file at its line feeds; what follows the last one is a line too, unless it is empty. */
export function piecesOf(file: Uint8Array): readonly Piece[] {
  const pieces: Piece[] = [];
  for (let start = 0, line = 0; start < file.length; line += 1) {
    const feed = file.indexOf(0x0a, start);
    const end = feed === -1 ? file.length : feed + 1;
    for (let part = 0; start < end; part += 1) {
      const bytes = file.subarray(start, Math.min(end, start + PIECE_BYTES));
      pieces.push({ line, part, bytes });
      start += bytes.length;
    }
  }
  return pieces;
}

/** Batches of so many whole lines, in order. */
export function batchesOf(pieces: readonly Piece[], lines: number): readonly (readonly Piece[])[] {
  return [...Map.groupBy(pieces, (piece) => Math.floor(piece.line / lines)).values()];
}

/** As text where the bytes are text, else, and where escapes would swell it, as base64. */
export function messageOf({ line, part, bytes }: Piece): Message {
  const raw = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const text = isUtf8(raw) ? raw.toString("utf8") : undefined;
  const isText = text !== undefined && Buffer.byteLength(JSON.stringify(text)) < raw.length * 1.3 + 16;
  return {
    messageId: `line-${line}-${part}`,
    ...(isText ? { body: text, bodyEncoding: "utf8" } : { body: raw.toString("base64"), bodyEncoding: "base64" }),
    headers: { line, part },
  };
}

export function pieceOf({ body, bodyEncoding, headers }: Message): Piece {
  return { ...headers, bytes: Buffer.from(body, bodyEncoding) };
}

/** Cuts messages into requests that the service takes. */
export function requestsOf(messages: readonly Message[]): readonly (readonly Message[])[] {
  const requests: Message[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const message of messages) {
    const size = Buffer.byteLength(JSON.stringify(message)) + 1;
    const last = requests.at(-1);
    if (last === undefined || bytes + size > REQUEST_BYTES || last.length === REQUEST_MESSAGES) {
      requests.push([message]);
      bytes = size;
    } else {
      last.push(message);
      bytes += size;
    }
  }
  return requests;
}
