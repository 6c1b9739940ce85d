import { takeDataFolder } from "./data-folder.ts";
import { startQueueEngine } from "./queue-engine.ts";
import { type Engine, startTableEngine } from "./table-engine.ts";

export interface EnginesWanted {
  readonly dataDir: string;
  /** Given: that one is used as it is. */
  readonly dynamodbEndpoint?: string | undefined;
  readonly sqsEndpoint?: string | undefined;
}

/** Where table and queues are. `stop` ends the engines that were started and gives the data folder back. */
export interface Engines {
  readonly dynamodbEndpoint: string;
  readonly sqsEndpoint: string;
  /** Resolves with one line when an engine ends by itself. */
  readonly ended: Promise<string>;
  stop(): Promise<void>;
}

/** Starts the engines that are not given, their files in the data folder. Throws `StartFailure`, then nothing is left running. */
export async function openEngines(wanted: EnginesWanted): Promise<Engines> {
  const { dataDir, dynamodbEndpoint, sqsEndpoint } = wanted;
  if (dynamodbEndpoint !== undefined && sqsEndpoint !== undefined) {
    return { dynamodbEndpoint, sqsEndpoint, ended: new Promise(() => {}), stop: async () => {} };
  }
  const folder = await takeDataFolder(dataDir);
  const [table, queues] = await Promise.allSettled([
    dynamodbEndpoint ?? startTableEngine(dataDir),
    sqsEndpoint ?? startQueueEngine(dataDir),
  ]);
  const started = [table, queues].flatMap((each) =>
    each.status === "fulfilled" && typeof each.value !== "string" ? [each.value] : [],
  );
  const stop = async (): Promise<void> => {
    await Promise.all(started.map((engine) => engine.stop()));
    folder.release();
  };
  if (table.status === "rejected" || queues.status === "rejected") {
    await stop();
    throw table.status === "rejected" ? table.reason : queues.status === "rejected" ? queues.reason : undefined;
  }
  return {
    dynamodbEndpoint: endpointOf(table.value),
    sqsEndpoint: endpointOf(queues.value),
    ended: Promise.race(started.map((engine) => engine.ended)),
    stop,
  };
}

const endpointOf = (engine: Engine | string): string => (typeof engine === "string" ? engine : engine.endpoint);
