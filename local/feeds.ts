import { type ChildProcess, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { regionIn } from "./credentials.ts";
import { isAlive } from "./processes.ts";
import type { ReplicaTable } from "./settings.ts";

export interface FeedsWanted {
  readonly replicas: readonly ReplicaTable[];
  /** The table that is read, and where it is. */
  readonly tableName: string;
  readonly dynamodbEndpoint: string;
  /** Where is kept how far it was read. */
  readonly dataDir: string;
}

/** Running feeds of replicas, each a process of its own. `stop` resolves when all of them are gone. */
export interface Feeds {
  stop(): Promise<void>;
}

const script = fileURLToPath(new URL("replicate.ts", import.meta.url));
const pauseBeforeRestartMs = 500;

/** Starts a process for each replica, and another one whenever it ends by itself. */
export function startFeeds(wanted: FeedsWanted): Feeds {
  if (wanted.replicas.length > 0 && !existsSync(wanted.dataDir)) mkdirSync(wanted.dataDir, { recursive: true });
  const stops = wanted.replicas.map((replica) => keepRunning(wanted, replica));
  return {
    stop: async () => {
      await Promise.all(stops.map((stop) => stop()));
    },
  };
}

/** The processes that feed replicas for whoever uses this data folder. */
export function feedPids(dataDir: string): readonly number[] {
  if (!existsSync(dataDir)) return [];
  return readdirSync(dataDir)
    .filter((file) => /^replica-.*\.pid$/.test(file))
    .map((file) => Number(readFileSync(join(dataDir, file), "utf8")))
    .filter((pid) => pid > 1 && isAlive(pid, script));
}

function keepRunning(wanted: FeedsWanted, replica: ReplicaTable): () => Promise<void> {
  let isStopping = false;
  let child: ChildProcess | undefined;
  const stem = join(wanted.dataDir, `replica-${nameOf(replica)}`);
  const running = (async () => {
    while (!isStopping) {
      child = start(wanted, replica, stem);
      if (child.pid !== undefined) writeFileSync(`${stem}.pid`, String(child.pid));
      const ended = await new Promise<string>((resolve) => {
        child?.once("error", (error) => resolve(error.message));
        child?.once("exit", (code, signal) => resolve(String(signal ?? code)));
      });
      if (isStopping) break;
      process.stderr.write(`the feed of replica ${replica.tableName} ended (${ended}): another one begins\n`);
      await sleep(pauseBeforeRestartMs);
    }
    rmSync(`${stem}.pid`, { force: true });
  })();
  return async () => {
    isStopping = true;
    child?.kill("SIGTERM");
    await running;
  };
}

function start(wanted: FeedsWanted, replica: ReplicaTable, stem: string): ChildProcess {
  const endpoint = replica.endpoint ?? wanted.dynamodbEndpoint;
  const region = regionIn(new URL(endpoint).hostname);
  return spawn(process.execPath, [script], {
    // Its own group: the terminal's Ctrl-C comes to the runner, which ends it after what still writes.
    detached: true,
    stdio: ["ignore", "ignore", "inherit"],
    env: {
      ...process.env,
      CAIRN_PARENT: String(process.pid),
      CAIRN_TABLE: wanted.tableName,
      DYNAMODB_ENDPOINT: wanted.dynamodbEndpoint,
      CAIRN_REPLICA_TABLE: replica.tableName,
      CAIRN_REPLICA_ENDPOINT: endpoint,
      ...(region !== undefined && { CAIRN_REPLICA_REGION: region }),
      CAIRN_STREAM_POSITION: `${stem}.json`,
    },
  });
}

/** Two tables may have one name at two places. */
function nameOf({ tableName, endpoint }: ReplicaTable): string {
  if (endpoint === undefined) return tableName;
  return `${tableName}-${createHash("sha256").update(endpoint).digest("hex").slice(0, 8)}`;
}
