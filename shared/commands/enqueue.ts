import { createHash } from "node:crypto";
import type { EnqueueAnswer } from "../domain/enqueued.ts";
import { type Refusal, refuse } from "../domain/refusal.ts";
import type { Context } from "./context.ts";
import type { Deferred } from "./idempotency.ts";
import { type Putting, put } from "./put.ts";

export interface Enqueue extends Omit<Putting, "request"> {
  readonly queue: string;
}

/** Puts messages on one queue: the default exchange. */
export const enqueue = (context: Context, call: Enqueue): Promise<EnqueueAnswer | Deferred | Refusal> =>
  put(context, { ...call, request: { kind: "enqueue", queue: call.queue } }, async (fresh) => {
    const { queue: name, messages } = call;
    // A branch keeps no tail that a deletion could have closed: it must know the queue of now.
    const queue =
      call.xid === undefined
        ? await context.settings.find(context.store, name, context.now(), fresh)
        : await context.settings.confirm(context.store, name, context.now());
    if (queue === undefined) return refuse("not-found", `queue ${name} does not exist`);
    return { messages, targets: [{ queue, messages }] };
  });

/** The hash of a request: method, path, body, session and branch are the request. */
export const requestHash = (...parts: readonly string[]): string =>
  createHash("sha256").update(JSON.stringify(parts)).digest("base64url");
