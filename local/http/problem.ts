/** A refusal that the gateway itself makes, before or instead of a handler: `application/problem+json`. */
export interface Problem {
  readonly status: number;
  readonly code: string;
  readonly title: string;
  readonly detail: string;
  readonly amqp?: number;
  readonly xa?: string;
  readonly retryable?: boolean;
}

export const notFound = (path: string): Problem => ({
  status: 404,
  code: "not-found",
  title: "Not found",
  amqp: 404,
  xa: "XAER_NOTA",
  detail: `there is nothing at ${path}`,
});

export const methodNotAllowed = (method: string, methods: readonly string[]): Problem => ({
  status: 405,
  code: "method-not-allowed",
  title: "Method not allowed",
  detail: `${method} does not apply here; ${methods.join(", ")} would`,
});

export const malformedRequest = (detail: string): Problem => ({
  status: 400,
  code: "invalid-argument",
  title: "Invalid argument",
  amqp: 542,
  xa: "XAER_RMERR",
  detail,
});

/** What the service takes of a request, which is less than the gateway passes on: a refusal of either names this. */
const REQUEST_BYTES = 5 * 1024 * 1024;

export const payloadTooLarge = (): Problem => ({
  status: 413,
  code: "payload-too-large",
  title: "Payload too large",
  amqp: 506,
  detail: `a request has at most ${REQUEST_BYTES} bytes`,
});

export const internalError = (requestId: string): Problem => ({
  status: 500,
  code: "internal-error",
  title: "Internal error",
  amqp: 541,
  xa: "XAER_RMERR",
  detail: `a defect in the service; the log has it under request ${requestId}`,
});

export const timedOut = (timeoutMs: number): Problem => ({
  status: 503,
  code: "unavailable",
  title: "Unavailable",
  amqp: 541,
  xa: "XAER_RMFAIL",
  retryable: true,
  detail: `no answer within ${timeoutMs / 1000} seconds; repeat the same call`,
});

/** The problem's body in the contract's order of members. */
export function problemBody({ status, code, title, detail, amqp, xa, retryable = false }: Problem): string {
  return JSON.stringify({
    type: `https://cairn.dev/problems/${code}`,
    title,
    status,
    code,
    ...(amqp === undefined ? {} : { amqp }),
    ...(xa === undefined ? {} : { xa }),
    retryable,
    detail,
  });
}
