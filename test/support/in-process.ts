/**
 * The real handlers behind the real gateway, but in the test's own process and without its connections, so that a test can
 * stand between a handler and the table or the command queue: every SDK call of every request goes through a middleware in the SDK's own stack. A process here is a run of the
 * handlers' bundle, with caches of its own; dropping it is what a crash does to a process's memory.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll } from "vitest";
import { routes, schedules } from "../../cdk/routes.ts";
import { awsEnvironment } from "../../local/credentials.ts";
import { contextOf } from "../../local/handlers.ts";
import { openGateway } from "../../local/http/gateway.ts";
import { problemBody, timedOut } from "../../local/http/problem.ts";
import { type QueueEngine, startQueueEngine } from "../../local/queue-engine.ts";
import { queueEvent, undoneOf } from "../../local/queue-event.ts";
import type { LocalQueues } from "../../local/queues.ts";
import { ensureTable } from "../../local/table.ts";
import { type Engine, startTableEngine } from "../../local/table-engine.ts";
import { tableClient } from "../../shared/store/client.ts";
import { type Loaded, loadBundle } from "./bundle.ts";
import { type Client, clientOf } from "./client.ts";
import type { Fetch } from "./fetch.ts";
import { fetchThrough } from "./gateway.ts";
import { type Queued, QueuesUnderTest } from "./queues.ts";
import { type RequestScope, Scope } from "./request-scope.ts";
import { connectOver, Wire } from "./wire.ts";
import { type Deliveries, runWorkers } from "./workers.ts";

/** One call of the SDK, as the product makes it. */
export interface SdkCall {
  readonly request: RequestScope;
  /** Among the calls of its request, from 0, in the order in which they begin. */
  readonly index: number;
  /** `GetItem`, `TransactWriteItems`, `SendMessageBatch`, … */
  readonly operation: string;
  readonly input: object;
}

/** Stands around each call: `next` makes it, the SDK's repetitions included. What it gives or throws, the product gets. */
export type OnCall = (call: SdkCall, next: () => Promise<object>) => Promise<object>;

/** Stands around each attempt of each call, from 0, nearest to the wire. What it throws, the SDK gets, and may try again. */
export type OnAttempt = (call: SdkCall, attempt: number, send: () => Promise<object>) => Promise<object>;

/** A process of the service, with a memory and a clock of its own. */
export interface InProcess {
  readonly client: Client;
  readonly fetch: Fetch;
  /** Ends every request under way where it is, and starts with an empty memory; on another table if one is named. */
  restart(table?: string): Promise<void>;
  /** Runs what the schedule runs, once. */
  runSchedule(): Promise<void>;
  /**
   * Gives the consumers what the queues hold until they are empty, a batch at a time; what a consumer leaves undone is
   * there again at once. Ends early when a consumer is stopped or abandoned: its batch is then in the queue again.
   */
  runWorker(deliveries?: Deliveries): Promise<void>;
  /** Gives a worker these messages of the command queue, in one batch, whatever became of them before; answers how many it left undone. */
  deliver(messages: readonly Queued[]): Promise<number>;
  onCall: OnCall | undefined;
  onAttempt: OnAttempt | undefined;
  /** Its clock goes so much ahead of the service's; a restart changes nothing about that. */
  aheadMs: number;
}

export interface InProcessService {
  /** A process of that name, on the table of now: the same one whenever it is asked for. */
  process(name: string): Promise<InProcess>;
  /** A table without records. */
  newTable(): Promise<string>;
  /** A connection that no fault touches. */
  readonly table: DynamoDBClient;
  /** The queues of every table, likewise. */
  readonly queues: QueuesUnderTest;
  /** The table that processes start on. */
  readonly tableName: string;
  /** Lets so much time pass, for every process. */
  wait(ms: number): void;
  /** The time by the clocks of the processes. */
  now(): number;
}

const scopes = new AsyncLocalStorage<Scope>();
const realNow = Date.now;
let passedMs = 0;

/** Processes of the service on one table engine (or the `DYNAMODB_ENDPOINT` given), for the tests of a file. */
export function useInProcessService(): InProcessService {
  let dataDir = "";
  let endpoint = "";
  let engine: Engine | undefined;
  let queueEngine: QueueEngine | undefined;
  let queues: QueuesUnderTest | undefined;
  let table: DynamoDBClient | undefined;
  // An endpoint of somebody's gets what the SDK sends it.
  let wire: Wire | undefined;
  let tableName = "";
  let tables = 0;
  const processes = new Map<string, Process>();
  const newTable = async () => {
    tables += 1;
    const name = `cairn-test-${process.pid}-${realNow()}-${tables}`;
    await ensureTable(endpoint, name);
    tableName = name;
    return name;
  };
  beforeAll(async () => {
    const given = process.env.DYNAMODB_ENDPOINT;
    const givenQueues = process.env.SQS_ENDPOINT;
    for (const [variable, value] of Object.entries(awsEnvironment(process.env, [given, givenQueues]))) {
      if (value === undefined) delete process.env[variable];
      else process.env[variable] = value;
    }
    dataDir = await mkdtemp(join(tmpdir(), "cairn-in-process-"));
    engine = given === undefined ? await startTableEngine(dataDir, false) : undefined;
    endpoint = engine?.endpoint ?? given ?? "";
    process.env.DYNAMODB_ENDPOINT = endpoint;
    queueEngine = givenQueues === undefined ? await startQueueEngine() : undefined;
    process.env.SQS_ENDPOINT = queueEngine?.endpoint ?? givenQueues ?? "";
    queues = new QueuesUnderTest(process.env.SQS_ENDPOINT, queueEngine?.server);
    table = tableClient(endpoint);
    wire = given === undefined && givenQueues === undefined ? new Wire() : undefined;
    if (wire !== undefined) {
      connectOver(wire, table);
      connectOver(wire, queues.client as unknown as DynamoDBClient);
    }
    passedMs = 0;
    Date.now = () => realNow() + (scopes.getStore()?.clockMs() ?? 0);
    await newTable();
  });
  afterAll(async () => {
    Date.now = realNow;
    for (const one of processes.values()) one.close();
    table?.destroy();
    queues?.destroy();
    wire?.close();
    await Promise.all([engine?.stop(), queueEngine?.stop()]);
    await rm(dataDir, { recursive: true, force: true });
    if (engine !== undefined) delete process.env.DYNAMODB_ENDPOINT;
    if (queueEngine !== undefined) delete process.env.SQS_ENDPOINT;
  });
  const queuesThere = () => {
    if (queues === undefined) throw new Error("the queues are not there yet");
    return queues;
  };
  return {
    get queues() {
      return queuesThere();
    },
    async process(name) {
      const known = processes.get(name);
      if (known !== undefined) return known;
      const started = new Process(name, tableName, queuesThere(), wire);
      processes.set(name, started);
      await started.start();
      return started;
    },
    newTable,
    get table() {
      if (table === undefined) throw new Error("the table is not there yet");
      return table;
    },
    get tableName() {
      return tableName;
    },
    wait(ms) {
      passedMs += ms;
    },
    now: () => realNow() + passedMs,
  };
}

/** What one life of a process is made of: its handlers, and its connection to the table. */
interface Memory extends Loaded {
  readonly requests: Set<Scope>;
  readonly queues: LocalQueues;
  started: number;
}

type Stack = DynamoDBClient["middlewareStack"];

const TIMEOUT_MS = 3_600_000;

class Process implements InProcess {
  aheadMs = 0;
  onCall: OnCall | undefined;
  onAttempt: OnAttempt | undefined;
  readonly client: Client;
  readonly #name: string;
  #table: string;
  #gateway: Fetch | undefined;
  #memory: Memory | undefined;
  readonly #queues: QueuesUnderTest;
  readonly #wire: Wire | undefined;

  constructor(name: string, table: string, queues: QueuesUnderTest, wire: Wire | undefined) {
    this.#name = name;
    this.#table = table;
    this.#queues = queues;
    this.#wire = wire;
    this.client = clientOf(this.fetch);
  }

  readonly fetch: Fetch = (path, request) => {
    if (this.#gateway === undefined) throw new Error("the process does not run");
    return this.#gateway(path, request);
  };

  async start(): Promise<void> {
    await this.restart();
    const loadHandler = async (lambda: string) => (event: unknown) => this.#invoke(lambda, event);
    this.#gateway = fetchThrough(await openGateway({ routes, loadHandler }));
  }

  close(): void {
    this.#end();
  }

  async restart(table = this.#table): Promise<void> {
    this.#end();
    this.#table = table;
    this.onCall = undefined;
    this.onAttempt = undefined;
    const queues = await this.#queues.of(table);
    this.#memory = { ...(await loadBundle(table, queues.commands.url)), requests: new Set(), queues, started: 0 };
    const { connection, queueConnection } = this.#memory;
    if (this.#wire !== undefined) {
      connectOver(this.#wire, connection);
      connectOver(this.#wire, queueConnection as unknown as DynamoDBClient);
    }
    this.#intercept(connection.middlewareStack);
    // A stack like the other: only the commands that pass through it have other types.
    this.#intercept(queueConnection.middlewareStack as unknown as Stack);
  }

  async runSchedule(): Promise<void> {
    for (const { lambda } of schedules) await this.#invoke(lambda, {});
  }

  async runWorker(deliveries: Deliveries = "once"): Promise<void> {
    if (this.#memory === undefined) throw new Error("the process does not run");
    const invoke = async (lambda: string, event: object) => {
      const answer = await this.#invoke(lambda, event);
      return answer === unanswered ? undefined : { answer };
    };
    await runWorkers({ queues: this.#queues, local: this.#memory.queues, invoke }, deliveries);
  }

  async deliver(messages: readonly Queued[]): Promise<number> {
    const received = messages.map(({ group, id, body }) => ({
      MessageId: id,
      Body: body,
      Attributes: { MessageGroupId: group, ApproximateReceiveCount: "1" },
    }));
    const { commands } = await this.#queues.of(this.#table);
    return undoneOf(received, await this.#invoke("worker/commands", queueEvent(commands.arn, received))).length;
  }

  #end(): void {
    for (const request of this.#memory?.requests ?? []) request.stop();
    this.#memory?.connection.destroy();
    this.#memory?.queueConnection.destroy();
    this.#memory = undefined;
  }

  async #invoke(lambda: string, event: unknown): Promise<unknown> {
    const memory = this.#memory;
    const load = memory?.handlers.get(lambda);
    if (memory === undefined || load === undefined) return unanswered;
    // Requests are held for as long as a test wants: no timeout of the machine's clock may end them.
    const context = contextOf(lambda, "in-process", TIMEOUT_MS);
    const scope = new Scope(this.#name, memory.started++, lambda, () => passedMs + this.aheadMs);
    memory.requests.add(scope);
    const answered = scopes.run(scope, async () => (await load()).handler(event, context));
    const ended = () => {
      memory.requests.delete(scope);
      scope.end();
    };
    answered.then(ended, ended);
    return Promise.race([answered, scope.abandoned.then(() => unanswered)]);
  }

  #intercept(stack: Stack): void {
    stack.add(
      (next, context) => async (args) => {
        const scope = scopes.getStore();
        if (scope === undefined) return next(args);
        const operation = (context.commandName ?? "").replace(/Command$/, "");
        const call: SdkCall = { request: scope, index: scope.calls++, operation, input: args.input };
        const counted = { scope, call, attempts: 0 };
        return scope.unlessStopped(async () => {
          const send = () => calls.run(counted, () => next(args)) as Promise<object>;
          return (await (this.onCall === undefined ? send() : this.onCall(call, send))) as Awaited<
            ReturnType<typeof next>
          >;
        });
      },
      { step: "initialize", priority: "high", name: "aroundCalls" },
    );
    stack.add(
      (next) => async (args) => {
        const counted = calls.getStore();
        const send = () => next(args) as Promise<object>;
        if (counted === undefined) return next(args);
        const attempt = counted.attempts++;
        return (await (this.onAttempt === undefined ? send() : this.onAttempt(counted.call, attempt, send))) as Awaited<
          ReturnType<typeof next>
        >;
      },
      { step: "finalizeRequest", priority: "low", name: "aroundAttempts" },
    );
  }
}

const calls = new AsyncLocalStorage<{ readonly scope: Scope; readonly call: SdkCall; attempts: number }>();

/** What a gateway answers for a function that gives no answer. */
const unanswered = {
  statusCode: 503,
  headers: { "content-type": "application/problem+json", "consumed-capacity": "wru=0, rru=0", "retry-after": "1" },
  body: problemBody(timedOut(30_000)),
};
