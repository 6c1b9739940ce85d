import { setTimeout as sleep } from "node:timers/promises";
import type { Route } from "../../cdk/routes.ts";
import { contextOf, type Handler, type LoadHandler, loadLambda } from "../handlers.ts";
import { oneLine } from "../start-failure.ts";
import { type Incoming, proxyEvent, splitTarget, type Target } from "./event.ts";
import { matchRoute } from "./match.ts";
import { internalError, malformedRequest, methodNotAllowed, notFound, payloadTooLarge, timedOut } from "./problem.ts";
import { problemReply, type Reply, replyFrom } from "./reply.ts";

export interface GatewayOptions {
  readonly routes: readonly Route[];
  /** Each is asked for once, before the first request. */
  readonly loadHandler?: LoadHandler;
  /** After this a caller gets 503, whatever the handler still does. */
  readonly timeoutMs?: number;
  /** Where a handler's defects are told, a line each. */
  readonly log?: (line: string) => void;
}

/** What an HTTP API does between its connections and its functions. */
export interface Gateway {
  readonly routes: readonly Route[];
  readonly handlers: ReadonlyMap<string, Handler>;
  readonly timeoutMs: number;
  readonly log: (line: string) => void;
}

const maxTimeoutMs = 30_000;

/** Loads the handlers of the routes. Throws `StartFailure` when one is missing. */
export async function openGateway(options: GatewayOptions): Promise<Gateway> {
  return {
    routes: options.routes,
    handlers: await loadHandlers(options.routes, options.loadHandler ?? loadLambda),
    timeoutMs: options.timeoutMs ?? maxTimeoutMs,
    log: options.log ?? ((line) => process.stderr.write(`${line}\n`)),
  };
}

/** Finds the request's route and runs its function. `readBody`: undefined when there is more than an HTTP API takes. */
export async function replyTo(
  gateway: Gateway,
  request: Incoming,
  readBody: () => Promise<Buffer | undefined>,
  requestId: string,
): Promise<Reply> {
  const target = splitTarget(request.url ?? "/");
  const match = matchRoute(gateway.routes, request.method ?? "", target.rawPath);
  switch (match.kind) {
    case "no-path":
      return problemReply(notFound(target.rawPath));
    case "wrong-method":
      return problemReply(methodNotAllowed(request.method ?? "", match.methods), { allow: match.methods.join(", ") });
    case "malformed-path":
      return problemReply(malformedRequest("the path is not percent-encoded UTF-8"));
    case "route": {
      const body = await readBody();
      if (body === undefined) return problemReply(payloadTooLarge());
      return invoke(gateway, { ...match, target, body }, request, requestId);
    }
  }
}

interface Invocation {
  readonly route: Route;
  readonly pathParameters: Readonly<Record<string, string>>;
  readonly target: Target;
  readonly body: Buffer;
}

async function invoke(
  { handlers, timeoutMs, log }: Gateway,
  invocation: Invocation,
  request: Incoming,
  requestId: string,
): Promise<Reply> {
  const { lambda } = invocation.route;
  const handler = handlers.get(lambda);
  if (handler === undefined) throw new Error(`no handler was loaded for ${lambda}`);
  const event = proxyEvent({ ...invocation, request, requestId, nowMs: Date.now() });
  const answered = (async () => replyFrom(await handler(event, contextOf(lambda, requestId, timeoutMs))))().catch(
    (error: unknown) => {
      log(`${lambda} failed, request ${requestId}: ${oneLine(error)}`);
      return problemReply(internalError(requestId));
    },
  );
  const over = new AbortController();
  const late = sleep(timeoutMs, undefined, { signal: over.signal }).then(() => {
    log(`${lambda} gave no answer within ${timeoutMs} ms, request ${requestId}`);
    return problemReply(timedOut(timeoutMs), { "retry-after": "1" });
  });
  late.catch(() => {});
  try {
    return await Promise.race([answered, late]);
  } finally {
    over.abort();
  }
}

async function loadHandlers(routes: readonly Route[], load: LoadHandler): Promise<ReadonlyMap<string, Handler>> {
  const names = [...new Set(routes.map((route) => route.lambda))];
  return new Map(await Promise.all(names.map(async (name) => [name, await load(name)] as const)));
}
