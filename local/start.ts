import { consumers, rejoining, routes, schedules } from "../cdk/routes.ts";
import { awsEnvironment } from "./credentials.ts";
import { type Engines, openEngines } from "./engines.ts";
import { type EventSources, startEventSources } from "./event-source.ts";
import { type Feeds, startFeeds } from "./feeds.ts";
import { type HttpApi, serve } from "./http/serve.ts";
import { mustBePrimary } from "./must-be-primary.ts";
import { ensureQueues } from "./queues.ts";
import { type Schedule, startSchedule } from "./schedule.ts";
import { helpText, readSettings, type Settings } from "./settings.ts";
import { onShutdown } from "./shutdown.ts";
import { oneLine, StartFailure } from "./start-failure.ts";
import { ensureTable } from "./table.ts";

const running: {
  engines?: Engines;
  api?: HttpApi;
  schedule?: Schedule;
  eventSources?: EventSources;
  feeds?: Feeds;
} = {};

async function main(args: readonly string[]): Promise<void> {
  if (args.includes("--help") || args.includes("-h")) {
    process.stdout.write(helpText);
    return;
  }
  const shutDown = onShutdown(stop);
  // As in Lambda, a defect that nobody awaits costs its invocation, not the others'.
  process.on("unhandledRejection", (error) => process.stderr.write(`unhandled rejection: ${oneLine(error)}\n`));
  process.on("uncaughtException", (error) => process.stderr.write(`uncaught exception: ${oneLine(error)}\n`));
  process.stdout.on("error", () => {});
  process.stderr.on("error", () => {});
  try {
    if (args.length > 0) throw new StartFailure(`unknown argument ${args[0]}; --help shows what can be set`);
    await start(readSettings(process.env), shutDown);
  } catch (error) {
    shutDown(error instanceof StartFailure ? error.message : `cannot start: ${oneLine(error)}`);
  }
}

async function start(settings: Settings, shutDown: (failure: string) => void): Promise<void> {
  const engines = await openEngines(settings);
  running.engines = engines;
  void engines.ended.then(shutDown);
  const { replicas } = settings;
  const given = [settings.dynamodbEndpoint, settings.sqsEndpoint, ...replicas.map(({ endpoint }) => endpoint)];
  setEnvironment(awsEnvironment(process.env, given));
  const [queues] = await Promise.all([
    ensureQueues(engines.sqsEndpoint, settings.tableName),
    ensureTable(engines.dynamodbEndpoint, settings.tableName, { stream: replicas.length > 0 }),
    ...replicas.map(({ endpoint, tableName }) => ensureTable(endpoint ?? engines.dynamodbEndpoint, tableName)),
  ]);
  await mustBePrimary(engines.dynamodbEndpoint, settings.tableName);
  setEnvironment({
    CAIRN_TABLE: settings.tableName,
    CAIRN_COMMAND_QUEUE_URL: queues.commands.url,
    DYNAMODB_ENDPOINT: engines.dynamodbEndpoint,
    SQS_ENDPOINT: engines.sqsEndpoint,
    CAIRN_REPLICATED: replicas.length > 0 ? "1" : undefined,
  });
  running.feeds = startFeeds({ ...settings, dynamodbEndpoint: engines.dynamodbEndpoint });
  running.schedule = await startSchedule({
    schedules: replicas.length > 0 ? [...schedules, rejoining] : schedules,
    everySeconds: settings.scheduleSeconds,
  });
  running.eventSources = await startEventSources({ consumers, endpoint: engines.sqsEndpoint, queues });
  running.api = await serve({ routes, port: settings.port });
  process.stdout.write(`Cairn listens on ${running.api.baseUrl}\n`);
}

/** Handlers read their environment when they are loaded, so this comes before. */
function setEnvironment(values: Readonly<Record<string, string | undefined>>): void {
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
}

/** First whoever could still ask for something, then what they would ask. */
async function stop(): Promise<void> {
  await Promise.all([running.api?.close(), running.schedule?.stop(), running.eventSources?.stop()]);
  await running.feeds?.stop();
  await running.engines?.stop();
}

await main(process.argv.slice(2));
