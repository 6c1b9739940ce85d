import { feed } from "../cdk/routes.ts";
import { loadLambda } from "./handlers.ts";
import { onShutdown } from "./shutdown.ts";
import { oneLine, StartFailure } from "./start-failure.ts";
import { type StreamSource, startStreamSource } from "./stream-source.ts";

/**
 * Feeds one replica until its parent ends it. Its environment is that of the function, and besides: DYNAMODB_ENDPOINT and
 * CAIRN_TABLE of the table that is read, CAIRN_STREAM_POSITION, the file in which is kept how far it was read.
 */
let source: StreamSource | undefined;
const shutDown = onShutdown(async () => source?.stop());
process.stderr.on("error", () => {});
try {
  source = startStreamSource({
    endpoint: given("DYNAMODB_ENDPOINT"),
    tableName: given("CAIRN_TABLE"),
    positionFile: given("CAIRN_STREAM_POSITION"),
    ...feed,
    handler: await loadLambda(feed.lambda),
    log: (line) => process.stderr.write(`replica ${process.env.CAIRN_REPLICA_TABLE}: ${line}\n`),
  });
} catch (error) {
  shutDown(error instanceof StartFailure ? error.message : oneLine(error));
}

function given(name: string): string {
  const value = process.env[name];
  if (value === undefined || value === "") throw new StartFailure(`${name} is not set`);
  return value;
}
