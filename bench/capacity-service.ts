import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { routes } from "../cdk/routes.ts";
import { awsEnvironment } from "../local/credentials.ts";
import { openEngines } from "../local/engines.ts";
import type { Handler } from "../local/handlers.ts";
import { serve } from "../local/http/serve.ts";
import { ensureQueues } from "../local/queues.ts";
import { readSettings } from "../local/settings.ts";
import { ensureTable } from "../local/table.ts";
import { type Lockstep, lockstep } from "./lockstep.ts";

/** The real handlers behind real HTTP in this process, so that their table calls can be counted. */
export interface CapacityService {
  readonly baseUrl: string;
  readonly steps: Lockstep;
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
    const steps = await countTableCalls();
    const api = await serve({ routes, loadHandler });
    const stop = async (): Promise<void> => {
      await api.close();
      await engines.stop();
      await removeData();
    };
    return { baseUrl: api.baseUrl, steps, stop };
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
const countTableCalls = async (): Promise<Lockstep> => {
  const { client } = await import("../shared/config.ts");
  const steps = lockstep();
  // Nearest to the wire, so that an attempt that the SDK repeats is a call of its own.
  client.middlewareStack.add((next) => (args) => steps.pass(() => next(args)), {
    step: "finalizeRequest",
    priority: "low",
    name: "lockstep",
  });
  return steps;
};

const setEnvironment = (values: Readonly<Record<string, string | undefined>>): void => {
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
};
