import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { Route } from "../../cdk/routes.ts";
import { contextOf, type Handler, type LoadHandler, loadLambda } from "../handlers.ts";
import { oneLine, StartFailure } from "../start-failure.ts";
import { drain, readBody } from "./body.ts";
import { proxyEvent, splitTarget, type Target } from "./event.ts";
import { matchRoute } from "./match.ts";
import { internalError, malformedRequest, methodNotAllowed, notFound, payloadTooLarge, timedOut } from "./problem.ts";
import { problemReply, type Reply, replyFrom, send } from "./reply.ts";

export interface ServeOptions {
  readonly routes: readonly Route[];
  /** 0, the default, = any free one. */
  readonly port?: number;
  /** Each is asked for once, before the first request. */
  readonly loadHandler?: LoadHandler;
  /** After this a caller gets 503, whatever the handler still does. */
  readonly timeoutMs?: number;
  /** Where a handler's defects are told, a line each. */
  readonly log?: (line: string) => void;
}

/** A listening HTTP API. `close` stops listening, waits a while for calls under way, then cuts what is left. */
export interface HttpApi {
  readonly baseUrl: string;
  readonly port: number;
  close(): Promise<void>;
}

/** The bounds of an HTTP API in front of Lambda. */
const maxBodyBytes = 10 * 1024 * 1024;
const maxTimeoutMs = 30_000;
/** How long calls under way may go on at a close, and a refused body may go on arriving. */
const patienceMs = 3_000;

/**
 * Serves the routes on 127.0.0.1 as an HTTP API with payload format 2.0 would. Handlers run in this process, as many
 * at once as there are requests. Throws `StartFailure` when a handler is missing or the port is taken.
 */
export async function serve(options: ServeOptions): Promise<HttpApi> {
  const gateway: Gateway = {
    routes: options.routes,
    handlers: await loadHandlers(options.routes, options.loadHandler ?? loadLambda),
    timeoutMs: options.timeoutMs ?? maxTimeoutMs,
    log: options.log ?? ((line) => process.stderr.write(`${line}\n`)),
  };
  // Clients that keep a connection for a minute must not find it just closed.
  const server = createServer({ keepAliveTimeout: 65_000 }, (request, response) => {
    void answer(gateway, request, response, server);
  });
  server.on("clientError", refuseUnreadable);
  const port = await listen(server, options.port ?? 0);
  return { port, baseUrl: `http://127.0.0.1:${port}`, close: () => close(server) };
}

interface Gateway {
  readonly routes: readonly Route[];
  readonly handlers: ReadonlyMap<string, Handler>;
  readonly timeoutMs: number;
  readonly log: (line: string) => void;
}

async function answer(
  gateway: Gateway,
  request: IncomingMessage,
  response: ServerResponse,
  server: Server,
): Promise<void> {
  response.on("error", () => {});
  const requestId = randomUUID();
  let reply: Reply;
  try {
    reply = await replyTo(gateway, request, requestId);
  } catch {
    // The client went away while it was sending: there is nobody to answer.
    response.destroy();
    return;
  }
  if (!request.complete || !server.listening) response.setHeader("connection", "close");
  response.setHeader("apigw-requestid", requestId);
  send(response, reply);
  await drain(request, patienceMs);
  response.end();
}

async function replyTo(gateway: Gateway, request: IncomingMessage, requestId: string): Promise<Reply> {
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
      const body = await readBody(request, maxBodyBytes);
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
  request: IncomingMessage,
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

function listen(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      reject(
        new StartFailure(
          error.code === "EADDRINUSE"
            ? `port ${port} is in use; choose another PORT`
            : `cannot listen on port ${port}: ${error.message}`,
        ),
      );
    });
    server.listen(port, "127.0.0.1", () => {
      const address = server.address();
      resolve(typeof address === "object" && address !== null ? address.port : port);
    });
  });
}

async function close(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  const timer = setTimeout(() => server.closeAllConnections(), patienceMs);
  await closed;
  clearTimeout(timer);
}

/** Bytes that are no HTTP request, or headers past their bound. */
function refuseUnreadable(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === "ECONNRESET" || !socket.writable) return;
  const tooLong = error.code === "HPE_HEADER_OVERFLOW";
  const { headers, body } = problemReply(
    malformedRequest(tooLong ? "the request's headers are too long" : "this is not an HTTP request"),
  );
  const fields = Object.entries({ ...headers, "content-length": body.length, connection: "close" });
  const head = fields.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  socket.end(`HTTP/1.1 400 Bad Request\r\n${head}\r\n${body.toString()}`);
}
