import { randomBytes } from "node:crypto";

/** Bodies of `bytes` bytes each: random printable ASCII, so that nothing can make them smaller by looking for repeats. */
export const bodies = (count: number, bytes: number): readonly string[] =>
  Array.from({ length: count }, () =>
    Array.from(randomBytes(bytes), (byte) => String.fromCharCode(32 + (byte % 95))).join(""),
  );

/** A queue name that nothing else uses, as long as names usually are. */
export const queueName = (): string => `orders-${randomBytes(4).toString("hex")}`;

/** An xid that nothing else uses, its parts as long as transaction managers make them. */
export const newXid = (): string => `1.${randomBytes(12).toString("hex")}.${randomBytes(4).toString("hex")}`;
