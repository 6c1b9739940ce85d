import { isUtf8 } from "node:buffer";
import type { IncomingMessage } from "node:http";
import type { APIGatewayProxyEventV2WithIAMAuthorizer } from "aws-lambda";
import type { Route } from "../../cdk/routes.ts";
import { localAccount } from "../handlers.ts";

/** A request's target as sent, taken apart at the first question mark. */
export interface Target {
  readonly rawPath: string;
  readonly rawQuery: string;
}

/** What is asked of a request that came in. */
export type Incoming = Pick<IncomingMessage, "method" | "url" | "headersDistinct" | "httpVersion"> & {
  readonly socket: Pick<IncomingMessage["socket"], "remoteAddress">;
};

export interface MatchedRequest {
  readonly request: Incoming;
  readonly target: Target;
  readonly route: Route;
  readonly pathParameters: Readonly<Record<string, string>>;
  readonly body: Buffer;
  readonly requestId: string;
  readonly nowMs: number;
}

type ProxyEvent = Omit<APIGatewayProxyEventV2WithIAMAuthorizer, "requestContext"> & {
  requestContext: Omit<APIGatewayProxyEventV2WithIAMAuthorizer["requestContext"], "authorizer"> &
    Partial<Pick<APIGatewayProxyEventV2WithIAMAuthorizer["requestContext"], "authorizer">>;
};

/** The event an HTTP API hands to a function, payload format 2.0. What does not apply is absent, as there. */
export function proxyEvent(matched: MatchedRequest): ProxyEvent {
  const { request, target, route, pathParameters, body } = matched;
  const headers = singleHeaders(request);
  const { cookie, ...otherHeaders } = headers;
  const routeKey = `${route.method} ${route.path}`;
  return {
    version: "2.0",
    routeKey,
    rawPath: target.rawPath,
    rawQueryString: target.rawQuery,
    ...(cookie === undefined ? {} : { cookies: cookie.split(/; */) }),
    headers: otherHeaders,
    ...(target.rawQuery === "" ? {} : { queryStringParameters: queryParameters(target.rawQuery) }),
    ...(Object.keys(pathParameters).length === 0 ? {} : { pathParameters: { ...pathParameters } }),
    requestContext: requestContext(matched, routeKey, headers),
    ...bodyForm(body, headers),
  };
}

export function splitTarget(url: string): Target {
  const mark = url.indexOf("?");
  return mark < 0 ? { rawPath: url, rawQuery: "" } : { rawPath: url.slice(0, mark), rawQuery: url.slice(mark + 1) };
}

/** Names in lower case, repeated ones joined by a comma. */
function singleHeaders(request: Incoming): Record<string, string> {
  return Object.fromEntries(
    Object.entries(request.headersDistinct).map(([name, values = []]) => [name, values.join(",")]),
  );
}

function queryParameters(rawQuery: string): Record<string, string> {
  const parameters = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(rawQuery)) {
    const before = parameters.get(name);
    parameters.set(name, before === undefined ? value : `${before},${value}`);
  }
  return Object.fromEntries(parameters);
}

function requestContext(
  { request, target, route, requestId, nowMs }: MatchedRequest,
  routeKey: string,
  headers: Readonly<Record<string, string>>,
): ProxyEvent["requestContext"] {
  return {
    accountId: localAccount,
    apiId: "local",
    domainName: headers.host?.replace(/:\d+$/, "") ?? "127.0.0.1",
    domainPrefix: "local",
    http: {
      method: route.method,
      path: target.rawPath,
      protocol: `HTTP/${request.httpVersion}`,
      sourceIp: request.socket.remoteAddress ?? "127.0.0.1",
      userAgent: headers["user-agent"] ?? "",
    },
    requestId,
    routeKey,
    stage: "$default",
    time: logTime(nowMs),
    timeEpoch: nowMs,
    ...(route.authorization === "iam" ? { authorizer: { iam: localPrincipal } } : {}),
  };
}

/** Who calls, where nobody checks signatures. */
const localPrincipal = {
  accessKey: "local",
  accountId: localAccount,
  callerId: "local",
  cognitoIdentity: null,
  principalOrgId: "",
  userArn: `arn:aws:iam::${localAccount}:user/local`,
  userId: "local",
};

/** Text as it is; anything else, and text that is not what it says, as base64, so that no byte changes on the way. */
function bodyForm(
  body: Buffer,
  headers: Readonly<Record<string, string>>,
): { body?: string; isBase64Encoded: boolean } {
  if (body.length === 0) return { isBase64Encoded: false };
  const encoding = headers["content-encoding"] ?? "identity";
  const isText = textTypes.test(headers["content-type"] ?? "") && encoding === "identity" && isUtf8(body);
  return { body: body.toString(isText ? "utf8" : "base64"), isBase64Encoded: !isText };
}

const textTypes = /^\s*(text\/[^;]*|application\/(json|javascript|xml|[^;\s]+\+(json|xml)))\s*(;|$)/i;

/** As in `30/Nov/2026:01:57:26 +0000`. */
function logTime(nowMs: number): string {
  const [, day, month, year, time] = /^\w+, (\d+) (\w+) (\d+) (\S+)/.exec(new Date(nowMs).toUTCString()) ?? [];
  return `${day}/${month}/${year}:${time} +0000`;
}
