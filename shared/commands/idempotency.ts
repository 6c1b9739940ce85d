import { createHash } from "node:crypto";
import type { EnqueueAnswer } from "../domain/enqueued.ts";
import { type Refusal, refuse } from "../domain/refusal.ts";
import { idempotencyKey } from "../records/keys.ts";
import { ifInForce, putIdempotency, readIdempotency } from "../records/remembered.ts";
import type { Write } from "../records/write.ts";
import type { Context } from "./context.ts";
import { newMessageIdBase } from "./new-run.ts";
import { packed, unpacked } from "./packed.ts";

/** A request that says how to know it again. */
export interface Idempotency {
  readonly principal: string;
  readonly key: string;
  /** Of everything that makes it the same request. */
  readonly hash: string;
}

/** The request was stored as a command of its session; `isAwaited`: its answer is what that comes to. */
export interface Deferred {
  readonly commandId: number;
  readonly isAwaited?: true;
}

export const isDeferred = (answer: EnqueueAnswer | Deferred | Refusal): answer is Deferred => "commandId" in answer;

/** What the same request was answered in the last 24 h; a refusal when the key was another request's. */
export const findAnswer = async (
  context: Context,
  request: Idempotency,
): Promise<EnqueueAnswer | Deferred | Refusal | undefined> => {
  const item = await context.store.read(idempotencyKey(request.principal, request.key));
  const inForce = ifInForce(item, context.now());
  if (inForce === undefined) return undefined;
  const { hash, answer } = readIdempotency(inForce);
  if (hash !== request.hash) return refuse("idempotency-key-reused", "the key belongs to another request");
  return unpacked(answer) as EnqueueAnswer | Deferred;
};

/** Remembers the answer in the commit that makes it true. */
export const rememberAnswer = (request: Idempotency, answer: EnqueueAnswer | Deferred, nowMs: number): Write =>
  putIdempotency(request.principal, request.key, { hash: request.hash, answer: packed(answer) }, nowMs);

/** Names what a call makes: the same request, if it says how to know it again, makes the same. */
export const callId = (request: Idempotency | undefined): string => {
  if (request === undefined) return newMessageIdBase();
  const { principal, key, hash } = request;
  return createHash("sha256")
    .update(JSON.stringify([principal, key, hash]))
    .digest("base64url")
    .slice(0, 22);
};
