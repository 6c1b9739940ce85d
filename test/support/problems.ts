import { expect } from "vitest";

/** The body of every refusal, as RFC 9457 and the contract's table of problem codes give it. */
export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly code: ProblemCode;
  readonly amqp?: number;
  readonly xa?: string;
  readonly retryable: boolean;
  readonly detail: string;
  readonly errors?: readonly { readonly path: string; readonly message: string }[];
}

export type ProblemCode = keyof typeof problemTable;

interface ProblemRow {
  readonly httpStatuses: readonly number[];
  readonly amqp?: number;
  readonly xa?: string;
}

/** The contract's table, copied by hand: what the product says is held against it on every refusal. */
export const problemTable = {
  "invalid-argument": { httpStatuses: [400], amqp: 542, xa: "XAER_RMERR" },
  "command-invalid": { httpStatuses: [400], amqp: 503, xa: "XAER_INVAL" },
  unauthorized: { httpStatuses: [401], amqp: 403, xa: "XAER_RMERR" },
  forbidden: { httpStatuses: [403], amqp: 403, xa: "XAER_RMERR" },
  "not-found": { httpStatuses: [404], amqp: 404, xa: "XAER_NOTA" },
  "illegal-state": { httpStatuses: [409], amqp: 409, xa: "XAER_PROTO" },
  "not-allowed": { httpStatuses: [409], amqp: 530, xa: "XAER_DUPID" },
  "session-fenced": { httpStatuses: [409], amqp: 409, xa: "XAER_PROTO" },
  "precondition-failed": { httpStatuses: [412], amqp: 406 },
  "payload-too-large": { httpStatuses: [413], amqp: 506 },
  "resource-limit-exceeded": { httpStatuses: [409], amqp: 506 },
  "idempotency-key-reused": { httpStatuses: [422] },
  "no-route": { httpStatuses: [422] },
  "too-many-requests": { httpStatuses: [429] },
  unavailable: { httpStatuses: [503], amqp: 541, xa: "XAER_RMFAIL" },
  "internal-error": { httpStatuses: [500], amqp: 541, xa: "XAER_RMERR" },
  // Not in the contract's table: what HTTP itself has for a path that is there under another method.
  "method-not-allowed": { httpStatuses: [405] },
} as const satisfies Record<string, ProblemRow>;

const knownFields = ["type", "title", "status", "code", "amqp", "xa", "retryable", "detail", "errors"];

/** Words that would tell a caller what the product is made of: stack frames, tables, SDK names. */
const leaks =
  /node_modules|\.ts\b|\bat \S+ \(|\\n\s+at |DynamoDB|ConditionalCheck|TransactionCancel|\bpk\b|\bsk\b|TPL#|QUEUE#/;

/**
 * Holds one refusal against the contract: exact shape, and the status, AMQP code and XA code that its code stands for.
 * On `/dtx` paths the XA code must be there; elsewhere it may be left out, as it says nothing to the caller.
 */
export function checkProblem(httpStatus: number, path: string, body: unknown): Problem {
  const where = `${path} answered ${httpStatus} ${JSON.stringify(body)}`;
  const problem = body as Problem;
  const row: ProblemRow | undefined = problemTable[problem.code];
  expect(row, `${where}: the code is in the contract's table`).toBeDefined();
  if (row === undefined) throw new Error(where);
  expect(row.httpStatuses, `${where}: HTTP status of ${problem.code}`).toContain(httpStatus);
  expect(problem.status, `${where}: status repeats the HTTP status`).toBe(httpStatus);
  expect(problem.type, where).toBe(`https://cairn.dev/problems/${problem.code}`);
  expect(problem.title, `${where}: the title is the code in words`).toBe(titleOf(problem.code));
  expect(problem.amqp, `${where}: AMQP code`).toBe(row.amqp);
  if (path.startsWith("/dtx") || problem.xa !== undefined) expect(problem.xa, `${where}: XA code`).toBe(row.xa);
  expect(typeof problem.retryable, `${where}: retryable`).toBe("boolean");
  if (problem.code === "unavailable") expect(problem.retryable, where).toBe(true);
  expect(problem.detail?.length, `${where}: detail`).toBeGreaterThan(0);
  expect(
    Object.keys(problem).filter((field) => !knownFields.includes(field)),
    `${where}: unknown fields`,
  ).toEqual([]);
  checkErrors(problem, where);
  expect(JSON.stringify(problem), `${where}: nothing internal leaks`).not.toMatch(leaks);
  return problem;
}

function checkErrors(problem: Problem, where: string): void {
  if (problem.errors === undefined) return;
  expect(problem.code, `${where}: errors only on validation`).toBe("invalid-argument");
  expect(problem.errors.length, where).toBeGreaterThan(0);
  for (const error of problem.errors) {
    expect(Object.keys(error).sort(), where).toEqual(["message", "path"]);
    expect(typeof error.path, where).toBe("string");
    expect(typeof error.message, where).toBe("string");
  }
}

/** `illegal-state` → `Illegal state`, as the contract's example has it. */
function titleOf(code: string): string {
  const words = code.replaceAll("-", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}
