import { type ServerResponse, validateHeaderName, validateHeaderValue } from "node:http";
import { type Problem, problemBody } from "./problem.ts";

/** An answer ready for the wire. */
export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body: Buffer;
}

/** What Lambda lets a function answer, in bytes of its JSON form. */
const maxResultBytes = 6 * 1024 * 1024;

/**
 * A handler's result as an HTTP API understands payload format 2.0: an object with `statusCode`, or else a body for a
 * 200. Throws on what a gateway could not send.
 */
export function replyFrom(result: unknown): Reply {
  if (result === undefined || result === null) throw new Error("the handler answered nothing");
  if (!isStructured(result)) return inferredReply(result);
  const { statusCode, headers, body, isBase64Encoded, cookies } = result;
  if (!Number.isInteger(statusCode) || statusCode < 200 || statusCode > 599) {
    throw new Error(`the handler answered the status code ${statusCode}`);
  }
  if (body !== undefined && typeof body !== "string")
    throw new Error("the handler answered a body that is not a string");
  refuseOversize(result, body ?? "");
  const content = Buffer.from(body ?? "", isBase64Encoded ? "base64" : "utf8");
  const sent = {
    ...(content.length === 0 ? {} : { "content-type": "text/plain; charset=utf-8" }),
    ...ownHeaders(headers ?? {}),
    ...(cookies === undefined || cookies.length === 0 ? {} : { "set-cookie": cookies }),
  };
  refuseUnsendable(sent);
  return { status: statusCode, headers: sent, body: content };
}

/** The gateway's own refusal. It costs nothing at the table unless a handler was at work, so then there is no receipt. */
export function problemReply(problem: Problem, headers: Readonly<Record<string, string>> = {}): Reply {
  return {
    status: problem.status,
    headers: {
      "content-type": "application/problem+json",
      ...(problem.status < 500 ? { "consumed-capacity": "wru=0, rru=0" } : {}),
      ...headers,
    },
    body: Buffer.from(problemBody(problem)),
  };
}

/** Sends head and body, without ending the response: the request may still be on its way. */
export function send(response: ServerResponse, reply: Reply): void {
  const { status, headers, body } = reply;
  const bare = status === 204 || status === 304;
  response.writeHead(status, { ...headers, ...(bare ? {} : { "content-length": String(body.length) }) });
  if (!bare && body.length > 0) response.write(body);
}

interface Structured {
  readonly statusCode: number;
  readonly headers?: Readonly<Record<string, string | number | boolean>>;
  readonly body?: unknown;
  readonly isBase64Encoded?: boolean;
  readonly cookies?: readonly string[];
}

const isStructured = (result: unknown): result is Structured =>
  typeof result === "object" && result !== null && "statusCode" in result;

function inferredReply(result: unknown): Reply {
  const body = typeof result === "string" ? result : (JSON.stringify(result) ?? "");
  refuseOversize(result, body);
  return { status: 200, headers: { "content-type": "application/json" }, body: Buffer.from(body) };
}

function refuseOversize(result: unknown, body: string): void {
  // JSON makes at most six bytes of a character, so a short body needs no second look.
  if (body.length * 6 < maxResultBytes - 65_536) return;
  const bytes = Buffer.byteLength(JSON.stringify(result) ?? "");
  if (bytes > maxResultBytes)
    throw new Error(`the handler answered ${bytes} bytes, over the ${maxResultBytes} that Lambda allows`);
}

function refuseUnsendable(headers: Readonly<Record<string, string | readonly string[]>>): void {
  for (const [name, values] of Object.entries(headers)) {
    validateHeaderName(name);
    for (const value of [values].flat()) validateHeaderValue(name, value);
  }
}

/** Those that the connection decides are not the function's to set. */
function ownHeaders(headers: Readonly<Record<string, string | number | boolean>>): Record<string, string> {
  const connections = ["connection", "content-length", "keep-alive", "transfer-encoding", "upgrade"];
  return Object.fromEntries(
    Object.entries(headers)
      .map(([name, value]) => [name.toLowerCase(), String(value)] as const)
      .filter(([name]) => !connections.includes(name)),
  );
}
