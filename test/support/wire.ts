/** Plain HTTP to the engines of a test, over connections that outlive the processes which it starts and ends. */
import { createConnection, type Socket } from "node:net";
import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";

/** What the SDK's clients have in common here. */
type Sdk = Pick<DynamoDBClient, "middlewareStack"> & {
  readonly config: { requestHandler: DynamoDBClient["config"]["requestHandler"] };
};

/**
 * From now on the client sends over the wire's connections, without what only AWS asks for: engines look at no signature. That
 * is most of a call's time here. Everything else of the SDK stays: its stack, its repeating, what it makes of an answer.
 */
export const connectOver = (wire: Wire, client: Sdk): void => {
  client.config.requestHandler = wire as unknown as Sdk["config"]["requestHandler"];
  for (const name of ONLY_FOR_AWS) client.middlewareStack.remove(name);
};

const ONLY_FOR_AWS = [
  "httpSigningMiddleware",
  "getUserAgentMiddleware",
  "hostHeaderMiddleware",
  "recursionDetectionMiddleware",
  "contentLengthMiddleware",
  "loggerMiddleware",
] as const;

/** What the SDK hands to a request handler, as far as calls of its JSON protocols have it. */
interface WireRequest {
  readonly method: string;
  readonly hostname: string;
  readonly port?: number;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

interface WireResponse {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

/** A request handler of the SDK. One request at a time on each connection; as many connections as there are requests at once. */
export class Wire {
  readonly metadata = { handlerProtocol: "http/1.1" };
  readonly #idle = new Map<string, Connection[]>();
  readonly #all = new Set<Connection>();

  async handle(request: WireRequest): Promise<{ readonly response: WireResponse }> {
    const { hostname, port = 80 } = request;
    const address = `${hostname}:${port}`;
    const idle = this.#idle.get(address) ?? [];
    this.#idle.set(address, idle);
    const connection = idle.pop() ?? this.#connect(hostname, port, idle);
    const response = await connection.exchange(address, request);
    idle.push(connection);
    return { response };
  }

  /** A client that is destroyed leaves the connections to the next one. */
  destroy(): void {}

  httpHandlerConfigs(): object {
    return {};
  }

  updateHttpClientConfig(): void {}

  close(): void {
    for (const connection of this.#all) connection.close();
  }

  #connect(hostname: string, port: number, idle: Connection[]): Connection {
    const connection = new Connection(createConnection({ host: hostname, port, noDelay: true }), () => {
      this.#all.delete(connection);
      const at = idle.indexOf(connection);
      if (at >= 0) idle.splice(at, 1);
    });
    this.#all.add(connection);
    return connection;
  }
}

interface Waiting {
  readonly resolve: (response: WireResponse) => void;
  readonly reject: (error: Error) => void;
}

class Connection {
  readonly #socket: Socket;
  #waiting: Waiting | undefined;
  #chunks: Buffer[] = [];
  #size = 0;
  #head: { readonly statusCode: number; readonly headers: Record<string, string>; readonly end: number } | undefined;
  #needed = 0;

  constructor(socket: Socket, closed: () => void) {
    this.#socket = socket;
    socket.on("data", (chunk) => this.#take(chunk));
    socket.on("error", (error) => this.#fail(error));
    socket.on("close", () => {
      closed();
      this.#fail(Object.assign(new Error("socket hang up"), { code: "ECONNRESET" }));
    });
  }

  close(): void {
    this.#socket.destroy();
  }

  exchange(address: string, { method, path, headers, body = "" }: WireRequest): Promise<WireResponse> {
    let head = `${method} ${path} HTTP/1.1\r\nhost: ${address}\r\n${UNSIGNED}`;
    for (const name in headers) if (!OWN.test(name)) head += `${name}: ${headers[name]}\r\n`;
    head += `content-length: ${Buffer.byteLength(body)}\r\n\r\n`;
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
      if (typeof body === "string") this.#socket.write(head + body);
      else this.#socket.write(Buffer.concat([Buffer.from(head), body]));
    });
  }

  #take(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#size += chunk.length;
    if (this.#size < this.#needed) return;
    const bytes = this.#chunks.length === 1 ? chunk : Buffer.concat(this.#chunks);
    this.#chunks = [bytes];
    this.#head ??= headOf(bytes);
    if (this.#head === undefined) return;
    const { statusCode, headers, end } = this.#head;
    const length = Number(headers["content-length"]);
    if (Number.isNaN(length)) {
      this.#fail(new Error(`an answer that does not tell its length: ${bytes.toString("latin1", 0, end)}`));
      return;
    }
    this.#needed = end + length;
    if (bytes.length < this.#needed) return;
    const waiting = this.#waiting;
    this.#reset();
    waiting?.resolve({ statusCode, headers, body: bytes.subarray(end) });
  }

  #fail(error: Error): void {
    const waiting = this.#waiting;
    this.#reset();
    this.#socket.destroy();
    waiting?.reject(error);
  }

  #reset(): void {
    this.#waiting = undefined;
    this.#chunks = [];
    this.#size = 0;
    this.#needed = 0;
    this.#head = undefined;
  }
}

/** Engines ask that a request looks signed, and by whom nobody asks. */
const UNSIGNED =
  "x-amz-date: 20200101T000000Z\r\nauthorization: AWS4-HMAC-SHA256 " +
  "Credential=local/20200101/us-east-1/any/aws4_request, SignedHeaders=host;x-amz-date, Signature=0\r\n";

/** Headers that a connection writes itself. */
const OWN = /^(host|content-length|connection)$/i;

const headOf = (bytes: Buffer) => {
  const blank = bytes.indexOf("\r\n\r\n");
  if (blank < 0) return undefined;
  const [status = "", ...lines] = bytes.toString("latin1", 0, blank).split("\r\n");
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const colon = line.indexOf(":");
    headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim();
  }
  return { statusCode: Number(status.split(" ")[1]), headers, end: blank + 4 };
};
