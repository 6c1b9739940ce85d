import { describe, expect, it } from "vitest";
import { Unreadable } from "../../shared/records/reading.ts";
import {
  forgetIdempotency,
  ifInForce,
  putDeduplication,
  putIdempotency,
  putOutcome,
  type RememberedOutcome,
  readDeduplication,
  readIdempotency,
  readOutcome,
} from "../../shared/records/remembered.ts";
import type { Item, Write } from "../../shared/records/write.ts";
import { xid } from "../domain/branches.ts";
import { stored } from "./stored.ts";

const nowMs = 1_800_000_000_999;
const DAY_SECONDS = 86_400;
const queue = { name: "q", generation: "g" };

const itemOf = (write: Write): Item => (write.kind === "put" ? stored(write.key, write.item) : {});

/** Past until the very end of the day; the table's own clock, in whole seconds, may take it only then. */
const lasting = { until: nowMs + DAY_SECONDS * 1000, ttl: 1_800_000_000 + DAY_SECONDS };

describe("a deduplication id", () => {
  const put = () => putDeduplication(queue, "d", { messageId: "m", sequence: "17" }, nowMs);

  it("is put where none is in force, for a day", () => {
    expect(put()).toMatchObject({
      kind: "put",
      key: { pk: "DEDUP#q#g#d", sk: "DEDUP" },
      item: lasting,
      require: [{ is: "absent-or-over", nowMs }],
      otherwise: "reload",
    });
  });

  it("reads back as what the first message became", () => {
    expect(readDeduplication(itemOf(put()))).toEqual({ messageId: "m", sequence: "17" });
  });
});

describe("an idempotency key", () => {
  const answered = { hash: "h", answer: new Uint8Array([1, 2, 3]) };
  const put = () => putIdempotency("arn:someone", "k", answered, nowMs);

  it("is put where none is in force, for a day", () => {
    expect(put()).toMatchObject({
      kind: "put",
      key: { pk: "IDEMPOTENCY#arn:someone#k", sk: "IDEMPOTENCY" },
      item: lasting,
      require: [{ is: "absent-or-over", nowMs }],
      otherwise: "reload",
    });
  });

  it("reads back as the request and its answer", () => {
    const read = readIdempotency(itemOf(put()));
    expect([read.hash, [...read.answer]]).toEqual(["h", [1, 2, 3]]);
  });

  it("is given up whatever it says", () => {
    expect(forgetIdempotency("arn:someone", "k")).toEqual({
      kind: "delete",
      key: put().key,
      require: [],
      otherwise: "reload",
    });
  });
});

describe("the outcome of a branch", () => {
  const outcome: RememberedOutcome = {
    outcome: "committed",
    reason: "commit",
    isRepeatable: true,
    completedAtMs: nowMs,
    dropped: 0,
  };

  it("takes the place of an older life's, for a day", () => {
    expect(putOutcome(xid, "i", outcome)).toMatchObject({
      kind: "put",
      key: { pk: `OUTCOME#${xid}`, sk: "OUTCOME" },
      item: { inc: "i", ...lasting },
      require: [],
      otherwise: "reload",
    });
  });

  it.each<[Partial<RememberedOutcome>]>([
    [{}],
    [{ outcome: "rolled-back", reason: "timed out", isRepeatable: false }],
    [{ dropped: 3 }],
    [{ dropped: 1 }],
  ])("reads back with %j", (more) => {
    expect(readOutcome(itemOf(putOutcome(xid, "i", { ...outcome, ...more })))).toEqual({ ...outcome, ...more });
  });

  it("says nothing of what was not so", () => {
    const item = itemOf(putOutcome(xid, "i", { ...outcome, isRepeatable: false }));
    expect(Object.keys(item).sort()).toEqual(["at", "inc", "o", "pk", "r", "sk", "ttl", "until"]);
  });
});

describe("a record of the past", () => {
  it.each([
    ["in force before its end", 999, true],
    ["over at its end", 1000, false],
    ["over after it, though the table still has it", 1001, false],
  ])("is %s", (_, atMs, isInForce) => {
    const item: Item = { until: 1000 };
    expect(ifInForce(item, atMs)).toBe(isInForce ? item : undefined);
  });

  it("that is not there is not in force; one without an end cannot be read", () => {
    expect(ifInForce(undefined, 0)).toBeUndefined();
    expect(() => ifInForce({ pk: "P", sk: "S" }, 0)).toThrow(Unreadable);
  });
});
