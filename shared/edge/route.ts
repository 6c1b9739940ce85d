/**
 * The one middy stack for HTTP: parse and check, run the command, answer as JSON with the cost receipt; refusals and lost
 * contact become problems. What a route needs of its request is data (`Shape`); what it does is one function.
 */
import middy from "@middy/core";
import type * as z from "zod";
import { isRefusal, type Refusal, refuse, refuseFields } from "../domain/refusal.ts";
import type { SessionRef } from "../domain/session.ts";
import type { Xid } from "../domain/xid.ts";
import {
  type Headers,
  type HttpEvent,
  parseBody,
  parseEpoch,
  parseHeaders,
  parseNameAt,
  parseQuery,
  parseWith,
  parseXidAt,
} from "./parsing.ts";
import { problemOf } from "./problem.ts";

/** What the edge needs of a call's context: its receipt, and that no write is open when it answers. */
export interface CallContext {
  readonly receipt: { readonly wru: number; readonly rru: number };
  settled(): Promise<void>;
  /** Resolves when the store's replicas have what the answer tells. */
  replicated?(): Promise<void>;
}

export interface Shape<B, Q> {
  readonly body?: z.ZodType<B>;
  readonly query?: z.ZodType<Q>;
  /** The names in the path, each checked as a name; `xid` as an xid. */
  readonly path?: readonly string[];
}

/** A call as a command may see it. */
export interface Call<B, Q> {
  readonly body: B;
  readonly query: Q;
  /** A name from the path; only those of the shape. */
  readonly name: (parameter: string) => string;
  /** The xid in the path; only of routes that have one. */
  readonly branch: () => Xid;
  /** The Xid header: the branch that a message call works in. */
  readonly xid: Xid | undefined;
  readonly session: SessionRef | undefined;
  readonly epoch: number | undefined;
  readonly idempotencyKey: string | undefined;
  /** The session in whose line the call is to be stored as a command: it asks for that, and works in no branch. */
  readonly asyncIn: SessionRef | undefined;
  readonly principal: string;
  readonly method: string;
  readonly rawPath: string;
  readonly rawBody: string;
}

export interface Answer {
  readonly httpStatus: number;
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
}

export const answer = (httpStatus: number, body?: object): Answer => ({
  httpStatus,
  ...(body !== undefined && { body }),
});

/** The call was stored as a command of its session. */
export const deferred = (commandId: number): Answer => ({
  httpStatus: 202,
  body: { commandId: String(commandId) },
  headers: { "preference-applied": "respond-async" },
});

interface Response {
  statusCode: number;
  headers: Record<string, string>;
  body?: string;
}

/** `open` makes the context of one call. `run` answers or refuses; what it throws is a defect or lost contact. */
export const route = <C extends CallContext, B = object, Q = object>(
  open: (remainingMs: number) => C,
  shape: Shape<B, Q>,
  run: (context: C, call: Call<B, Q>) => Promise<Answer | Refusal>,
) => {
  const contexts = new WeakMap<object, C>();
  return middy<HttpEvent, Response>()
    .before((request) => {
      contexts.set(request.event, open(request.context.getRemainingTimeInMillis()));
    })
    .after(async (request) => {
      const context = contexts.get(request.event);
      if ((request.response?.statusCode ?? 0) < 400) await context?.replicated?.();
      await receipt(context, request.response);
    })
    .onError(async (request) => {
      request.response = responseOf(refusalFor(request.error));
      await receipt(contexts.get(request.event), request.response);
    })
    .handler(async (event) => {
      const context = contexts.get(event);
      if (context === undefined) throw new Error("the call has no context");
      const call = callOf(shape, event);
      return responseOf(isRefusal(call) ? call : await run(context, call));
    });
};

const receipt = async (context: CallContext | undefined, response: Response | null | undefined): Promise<void> => {
  await context?.settled();
  if (response === null || response === undefined) return;
  response.headers["consumed-capacity"] = `wru=${context?.receipt.wru ?? 0}, rru=${context?.receipt.rru ?? 0}`;
};

const responseOf = (result: Answer | Refusal): Response => {
  if (isRefusal(result)) {
    const problem = problemOf(result);
    return { ...problem, headers: { ...problem.headers } };
  }
  if (result.body === undefined) return { statusCode: result.httpStatus, headers: { ...result.headers } };
  return {
    statusCode: result.httpStatus,
    headers: { "content-type": "application/json", ...result.headers },
    body: JSON.stringify(result.body),
  };
};

/** Lost contact may be tried again; everything else that is thrown is a defect, told to the log and not to the caller. */
const refusalFor = (error: unknown): Refusal => {
  if (error instanceof Error && error.name === "Unavailable") {
    return refuse("unavailable", "the table is busy or out of reach: repeat the call");
  }
  console.error(error);
  return refuse("internal-error", "a defect: the call was not completed");
};

const callOf = <B, Q>(shape: Shape<B, Q>, event: HttpEvent): Call<B, Q> | Refusal => {
  const names = namesOf(shape.path ?? [], event);
  if (isRefusal(names)) return names;
  const headers = parseHeaders(event);
  if (isRefusal(headers)) return headers;
  const query = shape.query === undefined ? noQuery(event) : parseQuery(shape.query, event);
  if (isRefusal(query)) return query;
  const raw = parseBody(event);
  if (isRefusal(raw)) return raw;
  const body = shape.body === undefined ? noBody(raw) : parseWith(shape.body, raw);
  if (isRefusal(body)) return body;
  return {
    body: body as B,
    query: query as Q,
    name: (parameter) => {
      const name = names.get(parameter);
      if (name === undefined) throw new Error(`the route has no ${parameter}`);
      return name;
    },
    ...contextOf(names, headers, event),
  };
};

const contextOf = (names: ReadonlyMap<string, string>, headers: Headers, event: HttpEvent) => ({
  branch: () => {
    const xid = names.get("xid");
    if (xid === undefined) throw new Error("the route has no xid");
    return xid as Xid;
  },
  xid: headers.xid,
  session: headers.session,
  epoch: parseEpoch(event) ?? undefined,
  idempotencyKey: headers.idempotencyKey,
  asyncIn: headers.prefersAsync && headers.xid === undefined ? headers.session : undefined,
  principal: event.requestContext.authorizer?.iam?.userArn ?? "anonymous",
  method: event.requestContext.http.method,
  rawPath: event.rawPath,
  rawBody: event.body ?? "",
});

const namesOf = (parameters: readonly string[], event: HttpEvent): ReadonlyMap<string, string> | Refusal => {
  const names = new Map<string, string>();
  for (const parameter of parameters) {
    const value = event.pathParameters?.[parameter];
    const name = parameter === "xid" ? parseXidAt(value, parameter) : parseNameAt(value, parameter);
    if (isRefusal(name)) return name;
    names.set(parameter, name);
  }
  return names;
};

const noBody = (raw: unknown): object | Refusal => {
  if (typeof raw !== "object" || raw === null || Array.isArray(raw))
    return refuseFields({ path: "", message: "the body must be an object" });
  const [first] = Object.keys(raw);
  return first === undefined ? raw : refuseFields({ path: first, message: "is not a known field" });
};

const noQuery = (event: HttpEvent): object | Refusal => {
  const [first] = Object.keys(event.queryStringParameters ?? {});
  return first === undefined ? {} : refuseFields({ path: `query.${first}`, message: "is not a known parameter" });
};
