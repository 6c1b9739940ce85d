import { expect } from "vitest";
import type { Fetch, Response } from "./fetch.ts";
import { checkProblem, type Problem } from "./problems.ts";

/** What the table charged for one call: write and read request units. */
export interface Receipt {
  readonly wru: number;
  readonly rru: number;
}

/**
 * One answer of the service, already held against the contract's conventions. `body` is the body of a success: reading it
 * on a refusal throws with the problem, so a test that goes on after an unexpected refusal says which one it was.
 */
export interface Answer<Body> {
  readonly status: number;
  readonly body: Body;
  readonly problem: Problem | undefined;
  readonly headers: Headers;
  readonly receipt: Receipt;
}

/** One request: `body` is sent as JSON, `rawBody` as it stands (for malformed input). */
export interface Request {
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly rawBody?: string | Uint8Array<ArrayBuffer>;
  readonly signal?: AbortSignal;
}

/**
 * Sends one request and checks what every response must have: a well-formed cost receipt, JSON on success, and on a refusal a
 * problem in the exact shape of the contract.
 */
export async function send<Body>(fetch: Fetch, request: Request): Promise<Answer<Body>> {
  const response = await fetch(request.path, requestInit(request));
  const text = await response.text();
  const where = `${request.method} ${request.path}`;
  const receipt = readReceipt(response.headers, where);
  const common = { status: response.status, headers: response.headers, receipt };
  if (response.status < 400) return { ...common, body: readSuccess<Body>(response, text, where), problem: undefined };
  expect(response.headers.get("content-type"), `${where} ${text}`).toMatch(/^application\/problem\+json\b/);
  const problem = checkProblem(response.status, request.path, JSON.parse(text));
  return {
    ...common,
    problem,
    get body(): Body {
      throw new Error(`${where}: expected a success, got ${text}`);
    },
  };
}

function requestInit(request: Request): RequestInit {
  const headers: Record<string, string> = { ...request.headers };
  const body = request.rawBody ?? (request.body === undefined ? undefined : JSON.stringify(request.body));
  if (body !== undefined) headers["content-type"] ??= "application/json";
  return {
    method: request.method,
    headers,
    ...(body === undefined ? {} : { body }),
    ...(request.signal === undefined ? {} : { signal: request.signal }),
  };
}

function readSuccess<Body>(response: Response, text: string, where: string): Body {
  if (response.status === 204) {
    expect(text, `${where}: 204 has no body`).toBe("");
    return undefined as Body;
  }
  expect(response.headers.get("content-type"), where).toMatch(/^application\/json\b/);
  return JSON.parse(text) as Body;
}

/** Reads `Consumed-Capacity: wru=<number>, rru=<number>`; its absence fails the test. */
function readReceipt(headers: Headers, where: string): Receipt {
  const header = headers.get("consumed-capacity");
  const match = /^wru=(\d+(?:\.\d+)?), rru=(\d+(?:\.\d+)?)$/.exec(header ?? "");
  expect(match, `${where}: Consumed-Capacity is ${header}`).not.toBeNull();
  return { wru: Number(match?.[1]), rru: Number(match?.[2]) };
}
