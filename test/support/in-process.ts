/**
 * The real handlers over real HTTP, but in the test's own process, so that a test can stand between a handler and the
 * table: every SDK call of every request goes through a middleware in the SDK's own stack. A process here is a run of the
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
import { problemBody, timedOut } from "../../local/http/problem.ts";
import { type HttpApi, serve } from "../../local/http/serve.ts";
import { ensureTable } from "../../local/table.ts";
import { type Engine, startTableEngine } from "../../local/table-engine.ts";
import { tableClient } from "../../shared/store/client.ts";
import { type Loaded, loadBundle } from "./bundle.ts";
import { type Client, client } from "./client.ts";

/** One request to a process, for whoever stands between it and the table. */
export interface RequestScope {
  /** The process's name, and the number of the request in it since its last restart, from 0. */
  readonly process: string;
  readonly number: number;
  readonly lambda: string;
  /** Resolves when the handler has come to its end; never, when it was stopped. */
  readonly ended: Promise<void>;
  /** Its clock goes so much ahead of everybody's. */
  aheadMs: number;
  /** The caller gets 503 at once, as from a gateway that lost its function; the handler goes on unheard. */
  abandon(): void;
  /** As `abandon`, and the handler never goes on: neither its open calls come back nor does it make another. */
  stop(): void;
}

/** One call of the SDK, as the product makes it. */
export interface SdkCall {
  readonly request: RequestScope;
  /** Among the calls of its request, from 0, in the order in which they begin. */
  readonly index: number;
  /** `GetItem`, `TransactWriteItems`, … */
  readonly operation: string;
  readonly input: object;
}

/** Stands around each call: `next` makes it, the SDK's repetitions included. What it gives or throws, the product gets. */
export type OnCall = (call: SdkCall, next: () => Promise<object>) => Promise<object>;

/** Stands around each attempt of each call, from 0, nearest to the wire. What it throws, the SDK gets, and may try again. */
export type OnAttempt = (call: SdkCall, attempt: number, send: () => Promise<object>) => Promise<object>;

/** A process of the service, with an address, a memory and a clock of its own. */
export interface InProcess {
  readonly client: Client;
  readonly baseUrl: string;
  /** Ends every request under way where it is, and starts with an empty memory; on another table if one is named. */
  restart(table?: string): Promise<void>;
  /** Runs what the schedule runs, once. */
  runSchedule(): Promise<void>;
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
  let table: DynamoDBClient | undefined;
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
    for (const [variable, value] of Object.entries(awsEnvironment(process.env, [given]))) {
      if (value === undefined) delete process.env[variable];
      else process.env[variable] = value;
    }
    dataDir = await mkdtemp(join(tmpdir(), "cairn-in-process-"));
    engine = given === undefined ? await startTableEngine(dataDir) : undefined;
    endpoint = engine?.endpoint ?? given ?? "";
    process.env.DYNAMODB_ENDPOINT = endpoint;
    table = tableClient(endpoint);
    passedMs = 0;
    Date.now = () => realNow() + (scopes.getStore()?.clockMs() ?? 0);
    await newTable();
  });
  afterAll(async () => {
    Date.now = realNow;
    await Promise.all([...processes.values()].map((one) => one.close()));
    table?.destroy();
    await engine?.stop();
    await rm(dataDir, { recursive: true, force: true });
    if (engine !== undefined) delete process.env.DYNAMODB_ENDPOINT;
  });
  return {
    async process(name) {
      const known = processes.get(name);
      if (known !== undefined) return known;
      const started = new Process(name, tableName);
      processes.set(name, started);
      await started.listen();
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
  started: number;
}

const TIMEOUT_MS = 3_600_000;

class Process implements InProcess {
  aheadMs = 0;
  onCall: OnCall | undefined;
  onAttempt: OnAttempt | undefined;
  readonly client: Client;
  readonly #name: string;
  #table: string;
  #api: HttpApi | undefined;
  #memory: Memory | undefined;

  constructor(name: string, table: string) {
    this.#name = name;
    this.#table = table;
    this.client = client(() => this.baseUrl);
  }

  get baseUrl(): string {
    return this.#api?.baseUrl ?? "";
  }

  async listen(): Promise<void> {
    await this.restart();
    this.#api = await serve({
      routes,
      loadHandler: async (lambda) => (event) => this.#invoke(lambda, event),
    });
  }

  async close(): Promise<void> {
    this.#end();
    await this.#api?.close();
  }

  async restart(table = this.#table): Promise<void> {
    this.#end();
    this.#table = table;
    this.onCall = undefined;
    this.onAttempt = undefined;
    this.#memory = { ...(await loadBundle(table)), requests: new Set(), started: 0 };
    this.#intercept(this.#memory);
  }

  async runSchedule(): Promise<void> {
    for (const { lambda } of schedules) await this.#invoke(lambda, {});
  }

  #end(): void {
    for (const request of this.#memory?.requests ?? []) request.stop();
    this.#memory?.connection.destroy();
    this.#memory = undefined;
  }

  async #invoke(lambda: string, event: unknown): Promise<unknown> {
    const memory = this.#memory;
    const load = memory?.handlers.get(lambda);
    if (memory === undefined || load === undefined) return unanswered;
    // Requests are held for as long as a test wants: no timeout of the machine's clock may end them.
    const context = contextOf(lambda, "in-process", TIMEOUT_MS);
    const scope = new Scope(this, this.#name, memory.started++, lambda);
    memory.requests.add(scope);
    const answered = scopes.run(scope, async () => (await load()).handler(event, context));
    const ended = () => {
      memory.requests.delete(scope);
      scope.end();
    };
    answered.then(ended, ended);
    return Promise.race([answered, scope.abandoned.then(() => unanswered)]);
  }

  #intercept({ connection }: Memory): void {
    connection.middlewareStack.add(
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
    connection.middlewareStack.add(
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

class Scope implements RequestScope {
  readonly process: string;
  readonly number: number;
  readonly lambda: string;
  readonly ended: Promise<void>;
  readonly abandoned: Promise<void>;
  aheadMs = 0;
  calls = 0;
  #isStopped = false;
  #end: () => void = () => {};
  #abandon: () => void = () => {};

  readonly #of: InProcess;

  constructor(of: InProcess, process: string, number: number, lambda: string) {
    this.#of = of;
    this.process = process;
    this.number = number;
    this.lambda = lambda;
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
    this.abandoned = new Promise((resolve) => {
      this.#abandon = resolve;
    });
  }

  /** How far its clock is ahead of the machine's. */
  clockMs(): number {
    return passedMs + this.#of.aheadMs + this.aheadMs;
  }

  abandon(): void {
    this.#abandon();
  }

  stop(): void {
    this.#isStopped = true;
    this.#abandon();
  }

  end(): void {
    this.#end();
  }

  /** The work's result; a promise for ever once the request is stopped, before the work or while it went on. */
  async unlessStopped<T>(work: () => Promise<T>): Promise<T> {
    if (this.#isStopped) return never();
    try {
      return await work();
    } finally {
      if (this.#isStopped) await never();
    }
  }
}

const never = <T>(): Promise<T> => new Promise(() => {});

/** What a gateway answers for a function that gives no answer. */
const unanswered = {
  statusCode: 503,
  headers: { "content-type": "application/problem+json", "consumed-capacity": "wru=0, rru=0", "retry-after": "1" },
  body: problemBody(timedOut(30_000)),
};
