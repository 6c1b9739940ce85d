import {
  Agent,
  createServer,
  request as forward,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";

/** Operations that change the table; the others only read. */
const writeOperations = ["PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems"];

export interface DynamodbProxy {
  /** The address to give to the service as `DYNAMODB_ENDPOINT`. */
  readonly url: string;
  /** Calls seen since the last `reset`, by operation (`X-Amz-Target` without its version). */
  readonly counts: ReadonlyMap<string, number>;
  /**
   * From now on lets `n` writes pass (with `operation`: `n` calls of it, and the other writes before and between them) and holds every
   * later one, unapplied and unanswered, until `step` or `reset`. Reads pass. So the product can be looked at, or killed, exactly
   * between its n-th and its next write.
   */
  holdWritesAfter(n: number, operation?: string): void;
  /** Lets the oldest held write pass; resolves when it was applied and answered. */
  step(): Promise<void>;
  /** How many writes are held now. */
  readonly held: number;
  /** Resolves when a write is held (at once if one is). */
  whenHeld(): Promise<void>;
  /** From now on applies each write but cuts the connection instead of answering its first attempt: the client must repeat it. */
  loseAnswers(): void;
  /** Drops what is held unapplied, forgets every fault and count, and goes on passing everything. */
  reset(): void;
  stop(): Promise<void>;
}

interface Held {
  readonly request: IncomingMessage;
  readonly body: Buffer;
  readonly response: ServerResponse;
}

/**
 * Starts an HTTP proxy in front of the DynamoDB endpoint `upstream` on a free port of 127.0.0.1. The product needs no hook for
 * faults: what it sees is an endpoint that is slow, silent, or cuts its connections.
 */
export async function startDynamodbProxy(upstream: string): Promise<DynamodbProxy> {
  const target = new URL(upstream);
  const agent = new Agent({ keepAlive: true });
  const counts = new Map<string, number>();
  const held: Held[] = [];
  const lost = new Set<string>();
  let losing = false;
  let writesLeft = Number.POSITIVE_INFINITY;
  let counted: string | undefined;
  let holding = false;
  let waiting: (() => void)[] = [];

  /** Sends the call on; resolves when the endpoint has answered, whether or not the answer is given to the client. */
  const pass = (call: Held, answer: boolean): Promise<void> =>
    new Promise((resolve) => {
      const { method, url, headers } = call.request;
      const { hostname: host, port } = target;
      const onward = forward({ host, port, method, path: url, headers, agent }, (incoming) => {
        incoming.once("end", resolve);
        if (!answer) {
          incoming.resume().once("end", () => call.response.destroy());
          return;
        }
        call.response.writeHead(incoming.statusCode ?? 502, incoming.headers);
        incoming.pipe(call.response);
      });
      onward.once("error", () => {
        call.response.destroy();
        resolve();
      });
      onward.end(call.body);
    });

  const answers = (call: Held): boolean => {
    if (!losing) return true;
    // An attempt repeats the body of the first one, its client request token included.
    const attempt = call.body.toString("latin1");
    if (lost.has(attempt)) return true;
    lost.add(attempt);
    return false;
  };

  const accept = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const call: Held = { request, response, body: await readAll(request) };
    const operation = operationOf(request);
    counts.set(operation, (counts.get(operation) ?? 0) + 1);
    if (!writeOperations.includes(operation)) return pass(call, true);
    if (counted === undefined || operation === counted) {
      holding ||= writesLeft === 0;
      writesLeft -= 1;
    }
    if (!holding) return pass(call, answers(call));
    held.push(call);
    // A killed or impatient client takes its call away: it is then never applied.
    response.once("close", () => {
      const index = held.indexOf(call);
      if (index >= 0) held.splice(index, 1);
    });
    for (const wake of waiting.splice(0)) wake();
  };

  const server = createServer((request, response) => {
    accept(request, response).catch(() => response.destroy());
  });
  const url = await listen(server);

  return {
    url,
    counts,
    get held() {
      return held.length;
    },
    holdWritesAfter(n, operation) {
      writesLeft = n;
      counted = operation;
      holding = false;
    },
    step() {
      const next = held.shift();
      return next === undefined ? Promise.resolve() : pass(next, answers(next));
    },
    whenHeld: () => (held.length > 0 ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve))),
    loseAnswers() {
      losing = true;
    },
    reset() {
      for (const call of held.splice(0)) call.response.destroy();
      waiting = [];
      counts.clear();
      lost.clear();
      losing = false;
      holding = false;
      writesLeft = Number.POSITIVE_INFINITY;
    },
    async stop() {
      agent.destroy();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** `DynamoDB_20120810.PutItem` → `PutItem`. */
function operationOf(request: IncomingMessage): string {
  const header = request.headers["x-amz-target"];
  return typeof header === "string" ? (header.split(".")[1] ?? header) : "";
}

async function readAll(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
