/** From the outer format to domain values: nothing raw goes further in. Every refusal says where and what is allowed. */
import type * as z from "zod";
import { REQUEST_BYTES } from "../domain/limits.ts";
import { isName, NAME_SHAPE } from "../domain/name.ts";
import { type FieldError, type Refusal, refuse, refuseFields } from "../domain/refusal.ts";
import type { SessionRef } from "../domain/session.ts";
import { parseXid, XID_SHAPE, type Xid } from "../domain/xid.ts";

/** What the edge reads of an HTTP API event, payload format 2.0. */
export interface HttpEvent {
  readonly rawPath: string;
  /** As it was sent: what is repeated in it stands in `queryStringParameters` as one value, with commas. */
  readonly rawQueryString?: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly pathParameters?: Readonly<Record<string, string | undefined>>;
  readonly queryStringParameters?: Readonly<Record<string, string | undefined>>;
  readonly body?: string;
  readonly isBase64Encoded: boolean;
  readonly requestContext: {
    readonly http: { readonly method: string };
    readonly authorizer?: { readonly iam?: { readonly userArn?: string } };
  };
}

/** Errors listed in one answer. */
const ERRORS_PER_ANSWER = 20;

/** Checks a value against a schema; `at` is the path of the value itself in the request. */
export const parseWith = <T>(schema: z.ZodType<T>, value: unknown, at = ""): T | Refusal => {
  const result = schema.safeParse(value, { reportInput: true });
  if (result.success) return result.data;
  const errors = result.error.issues.flatMap((issue) => fieldErrorsOf(issue, at)).slice(0, ERRORS_PER_ANSWER);
  return refuseFields(...errors);
};

/** Checks the query parameters; each may be given once. */
export const parseQuery = <T>(schema: z.ZodType<T>, event: HttpEvent): T | Refusal => {
  const names = [...new URLSearchParams(event.rawQueryString).keys()];
  const repeated = new Set(names.filter((name, i) => names.indexOf(name) < i));
  const errors = [...repeated].map((name) => ({ path: `query.${name}`, message: "may be given only once" }));
  if (errors.length > 0) return refuseFields(...errors.slice(0, ERRORS_PER_ANSWER));
  return parseWith(schema, event.queryStringParameters ?? {}, "query");
};

const fieldErrorsOf = (issue: z.core.$ZodIssue, at: string): readonly FieldError[] => {
  const path = joined(at, issue.path);
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map((key) => ({ path: joined(path, [key]), message: "is not a known field" }));
  }
  const isMissing = issue.code === "invalid_type" && issue.input === undefined && issue.path.length > 0;
  return [{ path, message: isMissing ? "is required" : uncapitalized(issue.message) }];
};

const joined = (at: string, path: readonly PropertyKey[]): string =>
  path.reduce<string>((text, part) => {
    if (typeof part === "number") return `${text}[${part}]`;
    return text === "" ? String(part) : `${text}.${String(part)}`;
  }, at);

const uncapitalized = (text: string): string => text.charAt(0).toLowerCase() + text.slice(1);

/** The JSON body; a body left out is an empty object. */
export const parseBody = (event: HttpEvent): unknown => {
  const bytes = Buffer.from(event.body ?? "", event.isBase64Encoded ? "base64" : "utf8");
  if (bytes.length > REQUEST_BYTES) return refuse("payload-too-large", `a request has at most ${REQUEST_BYTES} bytes`);
  if (bytes.length === 0) return {};
  const contentType = event.headers["content-type"];
  if (
    contentType !== undefined &&
    !/^application\/json\s*(;\s*charset\s*=\s*"?utf-8"?\s*)?$/i.test(contentType.trim())
  ) {
    return refuseFields({ path: "headers.Content-Type", message: "must be application/json, in UTF-8" });
  }
  try {
    const value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes)) as unknown;
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject ? value : refuseFields({ path: "", message: "the body must be a JSON object" });
  } catch {
    return refuseFields({ path: "", message: "the body is not JSON in UTF-8" });
  }
};

export const parseXidAt = (value: string | undefined, path: string): Xid | Refusal =>
  parseXid(value ?? "") ?? refuseFields({ path, message: XID_SHAPE });

export const parseNameAt = (value: string | undefined, path: string): string | Refusal =>
  value !== undefined && isName(value) ? value : refuseFields({ path, message: NAME_SHAPE });

/** What the context headers say; a session is named together with its epoch. */
export interface Headers {
  readonly session?: SessionRef;
  readonly xid?: Xid;
  readonly idempotencyKey?: string;
  /** The caller would rather be told later (RFC 7240). */
  readonly prefersAsync: boolean;
}

export const parseHeaders = (event: HttpEvent): Headers | Refusal => {
  const errors: FieldError[] = [];
  const name = event.headers.session;
  const epoch = parseEpoch(event);
  const xid = event.headers.xid;
  const idempotencyKey = event.headers["idempotency-key"];
  if (name !== undefined && !isName(name)) errors.push({ path: "headers.Session", message: NAME_SHAPE });
  if (name !== undefined && epoch === undefined) {
    errors.push({ path: "headers.Session-Epoch", message: "is required beside Session, as the attach returned it" });
  }
  // Unnoticed, it would leave the caller without its fence. A session in the path needs no header.
  if (name === undefined && epoch !== undefined && event.pathParameters?.session === undefined) {
    errors.push({ path: "headers.Session", message: "is required beside Session-Epoch" });
  }
  if (epoch === null) errors.push({ path: "headers.Session-Epoch", message: "must be a positive integer" });
  if (xid !== undefined && parseXid(xid) === undefined) errors.push({ path: "headers.Xid", message: XID_SHAPE });
  if (idempotencyKey !== undefined && !/^[\x21-\x7e]{1,255}$/.test(idempotencyKey)) {
    errors.push({ path: "headers.Idempotency-Key", message: "must be 1 to 255 visible ASCII characters" });
  }
  if (errors.length > 0) return refuseFields(...errors);
  const parsedXid = xid === undefined ? undefined : parseXid(xid);
  return {
    ...(name !== undefined && typeof epoch === "number" && { session: { name, epoch } }),
    ...(parsedXid !== undefined && { xid: parsedXid }),
    ...(idempotencyKey !== undefined && { idempotencyKey }),
    prefersAsync: prefersAsync(event.headers.prefer),
  };
};

/** Preferences stand between commas, each with parameters of its own after a semicolon; names know no case. */
const prefersAsync = (prefer: string | undefined): boolean =>
  (prefer ?? "").split(",").some((preference) => preference.split(";")[0]?.trim().toLowerCase() === "respond-async");

/** The Session-Epoch header: undefined when it is not there, null when it is not an epoch. */
export const parseEpoch = (event: HttpEvent): number | null | undefined => {
  const text = event.headers["session-epoch"];
  if (text === undefined) return undefined;
  return /^[1-9][0-9]{0,14}$/.test(text) ? Number(text) : null;
};
