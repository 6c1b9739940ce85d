/** Refusals as `application/problem+json` (RFC 9457): the codes are those of `docs/openapi.json`. */
import type { Refusal, RefusalCode } from "../domain/refusal.ts";

interface Row {
  readonly status: number;
  readonly title: string;
  readonly amqp?: number;
  readonly xa?: string;
  readonly retryable?: true;
}

const rows: Readonly<Record<RefusalCode, Row>> = {
  "invalid-argument": { status: 400, title: "Invalid argument", amqp: 542, xa: "XAER_RMERR" },
  "command-invalid": { status: 400, title: "Command invalid", amqp: 503, xa: "XAER_INVAL" },
  unauthorized: { status: 401, title: "Unauthorized", amqp: 403, xa: "XAER_RMERR" },
  forbidden: { status: 403, title: "Forbidden", amqp: 403, xa: "XAER_RMERR" },
  "not-found": { status: 404, title: "Not found", amqp: 404, xa: "XAER_NOTA" },
  "illegal-state": { status: 409, title: "Illegal state", amqp: 409, xa: "XAER_PROTO" },
  "not-allowed": { status: 409, title: "Not allowed", amqp: 530, xa: "XAER_DUPID" },
  "session-fenced": { status: 409, title: "Session fenced", amqp: 409, xa: "XAER_PROTO" },
  "precondition-failed": { status: 412, title: "Precondition failed", amqp: 406 },
  "payload-too-large": { status: 413, title: "Payload too large", amqp: 506 },
  "resource-limit-exceeded": { status: 409, title: "Resource limit exceeded", amqp: 506 },
  "idempotency-key-reused": { status: 422, title: "Idempotency key reused" },
  "no-route": { status: 422, title: "No route" },
  "too-many-requests": { status: 429, title: "Too many requests", retryable: true },
  unavailable: { status: 503, title: "Unavailable", amqp: 541, xa: "XAER_RMFAIL", retryable: true },
  "internal-error": { status: 500, title: "Internal error", amqp: 541, xa: "XAER_RMERR" },
};

/** Seconds after which a retryable call is worth repeating. */
const RETRY_AFTER_SECONDS = 1;

export interface ProblemAnswer {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export const problemOf = (refusal: Refusal): ProblemAnswer => {
  const row = rows[refusal.refusal];
  const amqp = refusal.amqp ?? row.amqp;
  return {
    statusCode: row.status,
    headers: {
      "content-type": "application/problem+json",
      ...(row.retryable === true && { "retry-after": String(RETRY_AFTER_SECONDS) }),
    },
    body: JSON.stringify({
      type: `https://cairn.dev/problems/${refusal.refusal}`,
      title: row.title,
      status: row.status,
      code: refusal.refusal,
      ...(amqp !== undefined && { amqp }),
      ...(row.xa !== undefined && { xa: row.xa }),
      retryable: row.retryable === true,
      detail: refusal.detail,
      ...(refusal.errors !== undefined && { errors: refusal.errors }),
    }),
  };
};
