import { randomBytes } from "node:crypto";

let made = 0;

/** A name that no other test uses, fit for queues and sessions: `<what>-<random>-<n>`. */
export function unique(what = "q"): string {
  made += 1;
  return `${what}-${randomBytes(4).toString("hex")}-${made}`;
}

/** The three parts of an xid; all of them are its identity. */
export interface XidParts {
  readonly formatId?: number;
  readonly gtrid?: Uint8Array;
  readonly bqual?: Uint8Array;
}

/** An xid on the wire, `<formatId>.<gtrid>.<bqual>`; what is left out is random (gtrid 12 bytes, bqual 4), so it is unique. */
export function newXid(parts: XidParts = {}): string {
  const { formatId = 1, gtrid = randomBytes(12), bqual = randomBytes(4) } = parts;
  return `${formatId}.${Buffer.from(gtrid).toString("hex")}.${Buffer.from(bqual).toString("hex")}`;
}

/** Xids at the edges of the wire format: NUL bytes, empty and 64-byte parts, the largest format id. */
export function edgeXids(): Record<string, string> {
  const random = randomBytes(8);
  return {
    "NUL bytes in both parts": newXid({
      gtrid: Buffer.concat([Buffer.from([0]), random, Buffer.from([0, 0])]),
      bqual: Buffer.from([0]),
    }),
    "an empty bqual": newXid({ gtrid: random, bqual: new Uint8Array(0) }),
    "64 bytes in both parts": newXid({ gtrid: randomBytes(64), bqual: randomBytes(64) }),
    "format id 0": newXid({ formatId: 0, gtrid: random }),
    "format id 2147483647": newXid({ formatId: 2147483647, gtrid: random }),
    "a one-byte gtrid of NUL": newXid({ formatId: random.readUInt16BE(), gtrid: new Uint8Array(1), bqual: random }),
    "bytes that are a separator in ASCII": newXid({ gtrid: Buffer.concat([Buffer.from("./#%"), random]) }),
  };
}
