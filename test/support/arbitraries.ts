import fc from "fast-check";
import type { SessionRef } from "../../shared/domain/session.ts";
import { parseXid, type Xid } from "../../shared/domain/xid.ts";

/** Names of queues and sessions, also such as mean something to JavaScript. */
export const names = fc.oneof(
  fc.stringMatching(/^[A-Za-z0-9._-]{1,127}$/).filter((name) => name !== "." && name !== ".."),
  fc.constantFrom("a", "0", "constructor", "__proto__", "toString", "a.b-c_d", "..."),
);

/** Generations, incarnations, lease tokens, operation ids. */
export const tokens = fc.stringMatching(/^[\w-]{1,32}$/);

export const epochs = fc.integer({ min: 1, max: 1_000_000 });

/** Moments, in ms. */
export const times = fc.integer({ min: 1, max: 8_000_000_000_000 });

export const sessionRefs: fc.Arbitrary<SessionRef> = fc.record({ name: names, epoch: epochs });

export const xids: fc.Arbitrary<Xid> = fc
  .tuple(
    fc.nat(2_147_483_647),
    fc.uint8Array({ minLength: 1, maxLength: 64 }),
    fc.uint8Array({ minLength: 0, maxLength: 64 }),
  )
  .map(([formatId, gtrid, bqual]) => {
    const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");
    const xid = parseXid(`${formatId}.${hex(gtrid)}.${hex(bqual)}`);
    if (xid === undefined) throw new Error("the arbitrary makes xids");
    return xid;
  });
