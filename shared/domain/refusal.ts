/**
 * Refusals: what a command answers instead of doing something. They are values, from this one closed list, in their
 * order of precedence; `throw` is for defects and lost I/O. HTTP statuses, AMQP and XA codes: `shared/edge/problem.ts`.
 */
export const refusalCodes = [
  "unauthorized",
  "forbidden",
  "payload-too-large",
  "invalid-argument",
  "not-found",
  "session-fenced",
  "command-invalid",
  "not-allowed",
  "illegal-state",
  "precondition-failed",
  "idempotency-key-reused",
  "no-route",
  "resource-limit-exceeded",
  "too-many-requests",
  "unavailable",
  "internal-error",
] as const;

export type RefusalCode = (typeof refusalCodes)[number];

/** Where an argument is wrong (a path into the request, such as `messages[3].body`), and what is allowed. */
export interface FieldError {
  readonly path: string;
  readonly message: string;
}

export interface Refusal {
  readonly refusal: RefusalCode;
  /** One sentence for the caller; names nothing internal. */
  readonly detail: string;
  /** Only with `invalid-argument`. */
  readonly errors?: readonly FieldError[];
  /** Replaces the code's AMQP number where one code stands for several. */
  readonly amqp?: number;
}

/** What is wrong with an argument says where: `refuseFields`. */
export const refuse = (refusal: Exclude<RefusalCode, "invalid-argument">, detail: string): Refusal => ({
  refusal,
  detail,
});

/** A refusal for wrong fields; `errors` has at least one. */
export const refuseFields = (...errors: readonly FieldError[]): Refusal => ({
  refusal: "invalid-argument",
  detail: errors.map((e) => (e.path === "" ? e.message : `${e.path} ${e.message}`)).join("; "),
  errors,
});

export const isRefusal = (value: unknown): value is Refusal =>
  typeof value === "object" && value !== null && "refusal" in value;
