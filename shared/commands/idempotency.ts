import { deflateRawSync, inflateRawSync } from "node:zlib";
import { type Refusal, refuse } from "../domain/refusal.ts";
import { idempotencyKey } from "../records/keys.ts";
import { ifInForce, putIdempotency, readIdempotency } from "../records/remembered.ts";
import type { Write } from "../records/write.ts";
import type { Context } from "./context.ts";
import type { EnqueueAnswer, Idempotency } from "./put.ts";

/** What the same request was answered in the last 24 h; a refusal when the key was another request's. */
export const findAnswer = async (
  context: Context,
  request: Idempotency,
): Promise<EnqueueAnswer | Refusal | undefined> => {
  const item = await context.store.read(idempotencyKey(request.principal, request.key));
  const inForce = ifInForce(item, context.now());
  if (inForce === undefined) return undefined;
  const { hash, answer } = readIdempotency(inForce);
  if (hash !== request.hash) return refuse("idempotency-key-reused", "the key belongs to another request");
  return JSON.parse(inflateRawSync(answer).toString("utf8")) as EnqueueAnswer;
};

/** Remembers the answer in the commit that makes it true. Deflated: its ids and sequences are much alike. */
export const rememberAnswer = (request: Idempotency, answer: EnqueueAnswer, nowMs: number): Write =>
  putIdempotency(
    request.principal,
    request.key,
    { hash: request.hash, answer: deflateRawSync(JSON.stringify(answer)) },
    nowMs,
  );
