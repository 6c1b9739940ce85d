import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import { endProcesses } from "../../local/processes.ts";
import { type Service, type SharedEngines, startEngines, startService } from "../../local/service.ts";
import { type Engine, startTableEngine, tableEnginePids } from "../../local/table-engine.ts";
import { type Client, client } from "./client.ts";
import { type DynamodbProxy, startDynamodbProxy } from "./dynamodb-proxy.ts";

/** The service under test. Its client, and every session made from it, goes on working after a restart. */
export interface ServiceUnderTest {
  readonly baseUrl: string;
  readonly client: Client;
  /** `kill -9` of all processes of the product, and a new start on the same data. */
  restart(): Promise<void>;
}

/** The service with a proxy between it and its table engine. A restart also ends every fault of the proxy. */
export interface ServiceBehindProxy extends ServiceUnderTest {
  readonly proxy: DynamodbProxy;
}

/** Several services on one table engine and one queue engine. */
export interface SharedServices {
  readonly clients: readonly [Client, Client];
}

/** One service for the tests of a file: started before the first, stopped after the last. */
export function useService(env: Record<string, string> = {}): ServiceUnderTest {
  let dataDir = "";
  let service: Service | undefined;
  beforeAll(async () => {
    dataDir = await newDataDir();
    service = await startService({ dataDir, env });
  });
  afterAll(async () => {
    await service?.stop();
    await removeDataDir(dataDir);
  });
  const baseUrl = () => running(service).baseUrl;
  return {
    get baseUrl() {
      return baseUrl();
    },
    client: client(baseUrl),
    async restart() {
      await running(service).kill9();
      service = await startService({ dataDir, env });
    },
  };
}

/** Like `useService`, with a fault proxy between the service and the table engine (or the `DYNAMODB_ENDPOINT` given). */
export function useServiceBehindProxy(): ServiceBehindProxy {
  let dataDir = "";
  let engine: Engine | undefined;
  let proxy: DynamodbProxy | undefined;
  let service: Service | undefined;
  const start = async () => {
    const given = process.env.DYNAMODB_ENDPOINT;
    engine = given === undefined ? await startTableEngine(dataDir) : undefined;
    proxy = await startDynamodbProxy(engine?.endpoint ?? given ?? "");
    service = await startService({ dataDir: join(dataDir, "service"), env: { DYNAMODB_ENDPOINT: proxy.url } });
  };
  beforeAll(async () => {
    dataDir = await newDataDir();
    await start();
  });
  afterAll(async () => {
    await service?.stop();
    await proxy?.stop();
    await engine?.stop();
    await removeDataDir(dataDir);
  });
  const baseUrl = () => running(service).baseUrl;
  return {
    get baseUrl() {
      return baseUrl();
    },
    client: client(baseUrl),
    get proxy() {
      return running(proxy);
    },
    async restart() {
      await Promise.all([running(service).kill9(), endProcesses(tableEnginePids(dataDir))]);
      await running(proxy).stop();
      await start();
    },
  };
}

/** Two services that share their engines, for the tests of a file. */
export function useTwoServices(): SharedServices {
  let dataDir = "";
  let engines: SharedEngines | undefined;
  let services: Service[] = [];
  beforeAll(async () => {
    dataDir = await newDataDir();
    engines = await startEngines({ dataDir });
    const env = { DYNAMODB_ENDPOINT: engines.dynamodbEndpoint, SQS_ENDPOINT: engines.sqsEndpoint };
    services = await Promise.all([startService({ env }), startService({ env })]);
  });
  afterAll(async () => {
    await Promise.all(services.map((service) => service.stop()));
    await engines?.stop();
    await removeDataDir(dataDir);
  });
  return { clients: [client(() => running(services[0]).baseUrl), client(() => running(services[1]).baseUrl)] };
}

function running<T>(started: T | undefined): T {
  if (started === undefined) throw new Error("the service was not started");
  return started;
}

const newDataDir = () => mkdtemp(join(tmpdir(), "cairn-test-"));

const removeDataDir = (dataDir: string) => rm(dataDir, { recursive: true, force: true, maxRetries: 5 });
