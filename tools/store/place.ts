import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { tableEnginePids } from "../../local/table-engine.ts";
import { Failure } from "./failure.ts";

/** Where a table is. */
export interface Place {
  readonly table: string;
  /** A URL; `local`: the table engine of a local service that does not run, in this folder. */
  readonly at: { readonly endpoint: string; readonly region?: string } | { readonly local: string };
}

/** What a command was told, or is to find out from the environment. */
export interface PlaceWanted {
  readonly table?: string | undefined;
  readonly endpoint?: string | undefined;
  readonly region?: string | undefined;
}

/** The place that is wanted, with what is left out as the service has it. */
export const placeOf = ({ table, endpoint, region }: PlaceWanted, env: NodeJS.ProcessEnv): Place => ({
  table: tableName(table ?? (env.CAIRN_TABLE || "cairn")),
  at: atOf(endpoint, region, env),
});

/** From `NAME`, `NAME@<endpoint>` or `NAME@<region>`. */
export const placeFrom = (text: string, env: NodeJS.ProcessEnv): Place => {
  const [table = "", ...rest] = text.split("@");
  const where = rest.join("@");
  if (rest.length === 0) return placeOf({ table }, env);
  return placeOf(/^https?:/.test(where) ? { table, endpoint: where } : { table, region: where }, env);
};

/** Another table of the same cluster: what it does not say is as it is here. */
export const placeBeside = (own: Place, other: PlaceWanted & { readonly table: string }): Place => {
  if (other.endpoint !== undefined) {
    return { table: other.table, at: { endpoint: endpointUrl(other.endpoint), ...regionOf(other.region) } };
  }
  if (other.region === undefined || "local" in own.at) return { table: other.table, at: own.at };
  const endpoint = isAws(own.at.endpoint) ? awsEndpoint(other.region) : own.at.endpoint;
  return { table: other.table, at: { endpoint, region: other.region } };
};

const atOf = (endpoint: string | undefined, region: string | undefined, env: NodeJS.ProcessEnv): Place["at"] => {
  if (endpoint !== undefined) return { endpoint: endpointUrl(endpoint), ...regionOf(region) };
  if (region !== undefined) return { endpoint: awsEndpoint(region), region };
  if (env.DYNAMODB_ENDPOINT) return { endpoint: endpointUrl(env.DYNAMODB_ENDPOINT) };
  const dataDir = resolve(env.CAIRN_DATA || ".cairn");
  if (existsSync(join(dataDir, "table.db"))) return localAt(dataDir);
  const own = env.CAIRN_DATA ? undefined : env.AWS_REGION || env.AWS_DEFAULT_REGION;
  if (own !== undefined) return { endpoint: awsEndpoint(own), region: own };
  throw new Failure([`there is no table in ${dataDir} (CAIRN_DATA); say where it is with --endpoint or --region`]);
};

/** The engine's port stands in its command line. */
const localAt = (dataDir: string): Place["at"] => {
  for (const pid of tableEnginePids(dataDir)) {
    const port = /--port\0(\d+)/.exec(commandLine(pid))?.[1];
    if (port !== undefined) return { endpoint: `http://127.0.0.1:${port}` };
  }
  return { local: dataDir };
};

const commandLine = (pid: number): string => {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return "";
  }
};

const regionOf = (region: string | undefined) => (region === undefined ? {} : { region: regionName(region) });

const awsEndpoint = (region: string): string =>
  `https://dynamodb.${regionName(region)}.amazonaws.com${region.startsWith("cn-") ? ".cn" : ""}`;

const isAws = (endpoint: string): boolean => /\.amazonaws\.com(\.cn)?$/.test(new URL(endpoint).hostname);

const regionName = (text: string): string => {
  if (/^[a-z]{2}(-[a-z]+)+-\d$/.test(text)) return text;
  throw new Failure([`"${text}" is neither an http or https URL nor an AWS region`], { withHelp: true });
};

const endpointUrl = (text: string): string => {
  const url = URL.parse(text);
  if (url !== null && /^https?:$/.test(url.protocol)) return text.replace(/\/+$/, "");
  throw new Failure([`the endpoint must be an http or https URL, not "${text}"`], { withHelp: true });
};

const tableName = (text: string): string => {
  if (/^[A-Za-z0-9._-]{3,255}$/.test(text)) return text;
  throw new Failure([`a table's name has 3 to 255 of A-Z a-z 0-9 . _ -, which "${text}" is not`], { withHelp: true });
};
