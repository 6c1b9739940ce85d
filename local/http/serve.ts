import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { StartFailure } from "../start-failure.ts";
import { drain, readBody } from "./body.ts";
import { type Gateway, type GatewayOptions, openGateway, replyTo } from "./gateway.ts";
import { malformedRequest } from "./problem.ts";
import { problemReply, type Reply, send } from "./reply.ts";

export interface ServeOptions extends GatewayOptions {
  /** 0, the default, = any free one. */
  readonly port?: number;
}

/** A listening HTTP API. `close` stops listening, waits a while for calls under way, then cuts what is left. */
export interface HttpApi {
  readonly baseUrl: string;
  readonly port: number;
  close(): Promise<void>;
}

/** The bound of an HTTP API in front of Lambda. */
const maxBodyBytes = 10 * 1024 * 1024;
/** How long calls under way may go on at a close, and a refused body may go on arriving. */
const patienceMs = 3_000;

/**
 * Serves the routes on 127.0.0.1 as an HTTP API with payload format 2.0 would. Handlers run in this process, as many
 * at once as there are requests. Throws `StartFailure` when a handler is missing or the port is taken.
 */
export async function serve(options: ServeOptions): Promise<HttpApi> {
  const gateway = await openGateway(options);
  // Clients that keep a connection for a minute must not find it just closed.
  const server = createServer({ keepAliveTimeout: 65_000 }, (request, response) => {
    void answer(gateway, request, response, server);
  });
  server.on("clientError", refuseUnreadable);
  const port = await listen(server, options.port ?? 0);
  return { port, baseUrl: `http://127.0.0.1:${port}`, close: () => close(server) };
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
    reply = await replyTo(gateway, request, () => readBody(request, maxBodyBytes), requestId);
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
