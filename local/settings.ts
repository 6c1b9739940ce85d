import { resolve } from "node:path";
import { StartFailure } from "./start-failure.ts";

/** What the runner is told by its environment. Durations are in seconds, paths are absolute. */
export interface Settings {
  /** 0 = any free one. */
  readonly port: number;
  readonly dataDir: string;
  readonly tableName: string;
  /** Set: that table is used and no table engine is started. */
  readonly dynamodbEndpoint: string | undefined;
  /** Set: those queues are used and no queue engine is started. */
  readonly sqsEndpoint: string | undefined;
  /** Overrides the rhythm of every scheduled function; 0 = never. */
  readonly scheduleSeconds: number | undefined;
  /** Up to two tables that are fed with all that is written. */
  readonly replicas: readonly ReplicaTable[];
}

export interface ReplicaTable {
  readonly tableName: string;
  /** Not set: where the first table is. */
  readonly endpoint: string | undefined;
}

/** Reads the settings; a value that cannot be meant is a `StartFailure` that names it. Empty counts as not set. */
export function readSettings(env: NodeJS.ProcessEnv): Settings {
  return {
    port: wholeNumber("PORT", env.PORT || "8080", 65_535),
    dataDir: resolve(env.CAIRN_DATA || ".cairn"),
    tableName: tableName("CAIRN_TABLE", env.CAIRN_TABLE || "cairn"),
    dynamodbEndpoint: endpoint("DYNAMODB_ENDPOINT", env.DYNAMODB_ENDPOINT),
    sqsEndpoint: endpoint("SQS_ENDPOINT", env.SQS_ENDPOINT),
    scheduleSeconds: env.CAIRN_SCHEDULE_SECONDS
      ? wholeNumber("CAIRN_SCHEDULE_SECONDS", env.CAIRN_SCHEDULE_SECONDS, 86_400)
      : undefined,
    replicas: replicas(env.CAIRN_REPLICAS || "", env.CAIRN_TABLE || "cairn"),
  };
}

export const helpText = `Usage: npm start
       npm start -- --help

Starts Cairn on this machine: the table engine, the queue engine and the HTTP API
(on 127.0.0.1 only). Ctrl-C stops everything. Settings are environment variables:

  PORT                    port of the HTTP API; 0 = any free one     [8080]
  CAIRN_DATA              folder of the engines' files               [.cairn/]
  CAIRN_TABLE             name of the table; created when missing    [cairn]
  DYNAMODB_ENDPOINT       use this DynamoDB, start no table engine   [none]
  SQS_ENDPOINT            use this SQS, start no queue engine        [none]
  CAIRN_SCHEDULE_SECONDS  run the scheduled functions this often;
                          0 = never                                  [60]
  CAIRN_REPLICAS          name[@endpoint],... of up to two tables
                          that get a copy of all that is written;
                          created when missing                       [none]

With an endpoint of your own the usual AWS_REGION, AWS_ACCESS_KEY_ID,
AWS_SECRET_ACCESS_KEY and AWS_PROFILE apply.

  CAIRN_DATA=/tmp/second PORT=8081 npm start                    a second service beside the first
  DYNAMODB_ENDPOINT=http://127.0.0.1:8000 npm start             on DynamoDB Local
  CAIRN_REPLICAS=copy,far@http://127.0.0.1:8000 npm start       with two replicas
  DYNAMODB_ENDPOINT=https://dynamodb.eu-west-1.amazonaws.com AWS_REGION=eu-west-1 npm start
`;

function wholeNumber(name: string, text: string, max: number): number {
  const value = Number(text);
  if (!/^\d{1,6}$/.test(text) || value > max) {
    throw new StartFailure(`${name} must be a whole number from 0 to ${max}, not "${text}"`);
  }
  return value;
}

function endpoint(name: string, text: string | undefined): string | undefined {
  if (!text) return undefined;
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new StartFailure(`${name} must be an http or https URL, not "${text}"`);
  }
  return text.replace(/\/+$/, "");
}

function tableName(setting: string, text: string): string {
  if (!/^[A-Za-z0-9._-]{3,255}$/.test(text)) {
    throw new StartFailure(`${setting} must be 3 to 255 of A-Z a-z 0-9 . _ -, not "${text}"`);
  }
  return text;
}

const mostReplicas = 2;

/** Tables of the same name at one place are one table, which no replica may be. */
function replicas(text: string, primary: string): readonly ReplicaTable[] {
  const setting = "CAIRN_REPLICAS";
  const all = text === "" ? [] : text.split(",").map((one) => replica(setting, one.trim()));
  if (all.length > mostReplicas)
    throw new StartFailure(`${setting} names ${all.length} tables, not up to ${mostReplicas}`);
  const places = [`${primary}@`, ...all.map((one) => `${one.tableName}@${one.endpoint ?? ""}`)];
  if (new Set(places).size < places.length) throw new StartFailure(`${setting} names a table twice: "${text}"`);
  return all;
}

function replica(setting: string, text: string): ReplicaTable {
  const [name = "", ...rest] = text.split("@");
  return { tableName: tableName(setting, name), endpoint: endpoint(setting, rest.join("@")) };
}
