import { openEngines } from "./engines.ts";
import { readSettings } from "./settings.ts";
import { onShutdown } from "./shutdown.ts";
import { oneLine, StartFailure } from "./start-failure.ts";

/** Starts the engines alone, their files in CAIRN_DATA, and says where they are, in the form that services are told it. */
let stop = async (): Promise<void> => {};
const shutDown = onShutdown(() => stop());
try {
  const engines = await openEngines({ dataDir: readSettings(process.env).dataDir });
  stop = engines.stop;
  void engines.ended.then(shutDown);
  process.stdout.write(`DYNAMODB_ENDPOINT=${engines.dynamodbEndpoint}\nSQS_ENDPOINT=${engines.sqsEndpoint}\n`);
} catch (error) {
  shutDown(error instanceof StartFailure ? error.message : `cannot start: ${oneLine(error)}`);
}
