import type * as z from "zod";
import type { RefusalCode } from "../../shared/domain/refusal.ts";

/** A context header that a call understands; a required one is named with `!`. */
export type ContextHeader = "Session" | "Session!" | "Session-Epoch" | "Xid" | "Idempotency-Key" | "Prefer";

/** What the document says of a route, beside its method, its path and who may call it. */
export interface Operation {
  readonly summary: string;
  /** What the summary and the schemas do not tell, choices where the contract is silent among it. */
  readonly description?: string;
  readonly headers?: readonly ContextHeader[];
  /** The very schemas that the handler checks with. */
  readonly body?: z.ZodType;
  readonly query?: z.ZodObject;
  /** By HTTP status: when it is answered so, and with what. */
  readonly answers: Readonly<Record<number, readonly [when: string, body?: z.ZodType]>>;
  /** Beside those that every call has. */
  readonly problems?: readonly RefusalCode[];
}

/** By the handler's file below `lambdas/`. */
export type Operations = Readonly<Record<string, Operation>>;
