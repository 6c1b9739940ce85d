/** Records of the past: deduplication ids, idempotency keys, outcomes. They say until when they hold, because TTL deletes late. */
import { REMEMBERED_SECONDS } from "../domain/limits.ts";
import type { QueueRef } from "../domain/queue.ts";
import type { Xid } from "../domain/xid.ts";
import { deduplicationKey, idempotencyKey, outcomeKey } from "./keys.ts";
import { bytes, text, whole, wholeOrZero } from "./reading.ts";
import type { Item, Write } from "./write.ts";

const lasting = (nowMs: number) => ({
  until: nowMs + REMEMBERED_SECONDS * 1000,
  ttl: Math.floor(nowMs / 1000) + REMEMBERED_SECONDS,
});

/** The record, unless its time is over. */
export const ifInForce = (item: Item | undefined, nowMs: number): Item | undefined =>
  item !== undefined && whole(item, "until") > nowMs ? item : undefined;

/** What the first message with a deduplication id became. */
export interface First {
  readonly messageId: string;
  readonly sequence: string;
}

export const putDeduplication = (queue: QueueRef, id: string, first: First, nowMs: number): Write => ({
  kind: "put",
  key: deduplicationKey(queue, id),
  item: { id: first.messageId, q: first.sequence, ...lasting(nowMs) },
  require: [{ is: "absent-or-over", nowMs }],
  otherwise: "reload",
});

export const readDeduplication = (item: Item): First => ({ messageId: text(item, "id"), sequence: text(item, "q") });

/** What a request with an idempotency key was (`hash`) and what it answered (`answer`, as the command packed it). */
export interface Answered {
  readonly hash: string;
  readonly answer: Uint8Array;
}

export const putIdempotency = (principal: string, key: string, answered: Answered, nowMs: number): Write => ({
  kind: "put",
  key: idempotencyKey(principal, key),
  item: { h: answered.hash, a: answered.answer, ...lasting(nowMs) },
  require: [{ is: "absent-or-over", nowMs }],
  otherwise: "reload",
});

/** The request was given up: it may be made again. */
export const forgetIdempotency = (principal: string, key: string): Write => ({
  kind: "delete",
  key: idempotencyKey(principal, key),
  require: [],
  otherwise: "reload",
});

export const readIdempotency = (item: Item): Answered => ({ hash: text(item, "h"), answer: bytes(item, "a") });

export interface RememberedOutcome {
  readonly outcome: "committed" | "rolled-back";
  readonly reason: string;
  /** The completion answered XA_OK: the same verb answers it again. */
  readonly isRepeatable: boolean;
  readonly completedAtMs: number;
  /** Messages that commit found no place or no run for: dropped or settled by others, by reason. */
  readonly dropped: number;
}

/** Replaces the outcome of an older incarnation. */
export const putOutcome = (xid: Xid, incarnation: string, outcome: RememberedOutcome): Write => ({
  kind: "put",
  key: outcomeKey(xid),
  item: {
    inc: incarnation,
    o: outcome.outcome,
    r: outcome.reason,
    ...(outcome.isRepeatable && { ok: true }),
    at: outcome.completedAtMs,
    ...(outcome.dropped > 0 && { x: outcome.dropped }),
    ...lasting(outcome.completedAtMs),
  },
  require: [],
  otherwise: "reload",
});

export const readOutcome = (item: Item): RememberedOutcome => ({
  outcome: text(item, "o") === "committed" ? "committed" : "rolled-back",
  reason: text(item, "r"),
  isRepeatable: item.ok === true,
  completedAtMs: whole(item, "at"),
  dropped: wholeOrZero(item, "x"),
});
