import { brotliCompressSync, brotliDecompressSync, constants } from "node:zlib";
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
  return JSON.parse(brotliDecompressSync(answer).toString("utf8")) as EnqueueAnswer;
};

/**
 * Remembers the answer in the commit that makes it true, packed: its ids and sequences are much alike. The window spans the
 * longest answer, whose queues are the same from message to message: 4 MB stay below the 400 KB of a record.
 */
export const rememberAnswer = (request: Idempotency, answer: EnqueueAnswer, nowMs: number): Write =>
  putIdempotency(request.principal, request.key, { hash: request.hash, answer: packed(answer) }, nowMs);

const packed = (answer: EnqueueAnswer): Uint8Array =>
  brotliCompressSync(JSON.stringify(answer), {
    params: { [constants.BROTLI_PARAM_QUALITY]: 5, [constants.BROTLI_PARAM_LGWIN]: 22 },
  });
