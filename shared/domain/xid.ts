/** Branch identifiers. Shape: `<formatId>.<gtrid>.<bqual>`, as `docs/openapi.json` and the X/Open XA text define it. */

/** A canonical xid: two xids are the same branch exactly when these strings are equal. */
export type Xid = string & { readonly xid: unique symbol };

const shape = /^(0|[1-9][0-9]{0,9})\.((?:[0-9a-f]{2}){1,64})\.((?:[0-9a-f]{2}){0,64})$/;

/** The xid, or undefined when the text is not one. Format ids go up to 2^31-1. */
export const parseXid = (text: string): Xid | undefined => {
  const match = shape.exec(text);
  return match !== null && Number(match[1]) <= 2_147_483_647 ? (text as Xid) : undefined;
};

export const XID_SHAPE =
  "must be <formatId>.<gtrid>.<bqual>: formatId decimal 0..2147483647 without leading zeros, gtrid and bqual lower-case hex of 1..64 and 0..64 bytes";

/** The three parts of an xid; gtrid and bqual stay hex. */
export const xidParts = (xid: Xid): { formatId: number; gtrid: string; bqual: string } => {
  const [formatId = "", gtrid = "", bqual = ""] = xid.split(".");
  return { formatId: Number(formatId), gtrid, bqual };
};
