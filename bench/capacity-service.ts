import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ConsumedCapacity } from "@aws-sdk/client-dynamodb";
import { consumers, routes } from "../cdk/routes.ts";
import { awsEnvironment } from "../local/credentials.ts";
import { openEngines } from "../local/engines.ts";
import { startEventSources } from "../local/event-source.ts";
import type { Handler } from "../local/handlers.ts";
import { serve } from "../local/http/serve.ts";
import { ensureQueues } from "../local/queues.ts";
import { readSettings } from "../local/settings.ts";
import { ensureTable } from "../local/table.ts";
import { Receipt } from "../shared/store/receipt.ts";
import type { Units } from "./client.ts";
import { type Lockstep, lockstep } from "./lockstep.ts";

/** The real handlers behind real HTTP in this process, so that their table calls can be counted. */
export interface CapacityService {
  readonly baseUrl: string;
  readonly steps: Lockstep;
  /** What all calls to the table have cost so far, those of the workers included. */
  spent(): Units;
  /** Lets the workers consume the command queue while `work` runs. */
  whileConsuming<T>(work: () => Promise<T>): Promise<T>;
  stop(): Promise<void>;
}

/** Starts it on a table of its own, in a temporary folder (or in the `DYNAMODB_ENDPOINT` given). Once a process. */
export const startCapacityService = async (): Promise<CapacityService> => {
  const dataDir = await mkdtemp(join(tmpdir(), "cairn-bench-"));
  const settings = readSettings({ ...process.env, CAIRN_DATA: dataDir });
  const engines = await openEngines(settings);
  const removeData = () => rm(dataDir, { recursive: true, force: true, maxRetries: 5 });
  setEnvironment({
    ...awsEnvironment(process.env, [settings.dynamodbEndpoint, settings.sqsEndpoint]),
    CAIRN_TABLE: settings.tableName,
    DYNAMODB_ENDPOINT: engines.dynamodbEndpoint,
    SQS_ENDPOINT: engines.sqsEndpoint,
  });
  try {
    await ensureTable(engines.dynamodbEndpoint, settings.tableName);
    const queues = await ensureQueues(engines.sqsEndpoint, settings.tableName);
    setEnvironment({ CAIRN_COMMAND_QUEUE_URL: queues.commands.url });
    const { steps, spent } = await countTableCalls();
    const endpoint = engines.sqsEndpoint;
    const whileConsuming = async <T>(work: () => Promise<T>): Promise<T> => {
      const sources = await startEventSources({ consumers, endpoint, queues, loadHandler });
      try {
        return await work();
      } finally {
        await sources.stop();
      }
    };
    const api = await serve({ routes, loadHandler });
    const stop = async (): Promise<void> => {
      await api.close();
      await engines.stop();
      await removeData();
    };
    return { baseUrl: api.baseUrl, steps, spent, whileConsuming, stop };
  } catch (error) {
    await engines.stop();
    await removeData();
    throw error;
  }
};

/** From here, so that handlers and counting share the one connection of `shared/config.ts`. */
const loadHandler = async (lambda: string): Promise<Handler> => {
  const [folder, file = ""] = lambda.split("/");
  const module =
    file === "" ? await import(`../lambdas/${folder}.ts`) : await import(`../lambdas/${folder}/${file}.ts`);
  return module.handler as Handler;
};

/** The environment is set by now: the connection reads it when it is made. */
const countTableCalls = async (): Promise<Pick<CapacityService, "steps" | "spent">> => {
  const { client } = await import("../shared/config.ts");
  const steps = lockstep();
  const receipt = new Receipt();
  client.middlewareStack.add(
    (next, { commandName = "" }) =>
      async (args) => {
        const answer = await next(args);
        const { ConsumedCapacity } = answer.output as { readonly ConsumedCapacity?: ConsumedCapacity };
        if (/^(Get|BatchGet|Query)/.test(commandName)) receipt.read(ConsumedCapacity);
        else receipt.wrote(ConsumedCapacity);
        return answer;
      },
    { step: "initialize", name: "spent" },
  );
  // Nearest to the wire, so that an attempt that the SDK repeats is a call of its own.
  client.middlewareStack.add((next) => (args) => steps.pass(() => next(args)), {
    step: "finalizeRequest",
    priority: "low",
    name: "lockstep",
  });
  return { steps, spent: () => ({ wru: receipt.wru, rru: receipt.rru }) };
};

const setEnvironment = (values: Readonly<Record<string, string | undefined>>): void => {
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
};
