import { writeFileSync } from "node:fs";
import { type ParseArgsConfig, parseArgs } from "node:util";
import { type ShutDown, shutDown } from "../../shared/commands/store/shutdown.ts";
import { type StoreContext, storeStatus } from "../../shared/commands/store/status.ts";
import { REPLICA_TIMEOUT_SECONDS_MAX } from "../../shared/domain/limits.ts";
import { statusDocument } from "../../shared/domain/store-document.ts";
import { Failure } from "./failure.ts";
import { helpText } from "./help.ts";
import { identifyStores } from "./identify.ts";
import { joinReplica, leaveAs, promoteStore } from "./membership.ts";
import { type Place, placeBeside, placeOf } from "./place.ts";
import { reading } from "./reading.ts";
import { setCredentials, Tables } from "./tables.ts";

/** `cairn store <args>`: the exit code. */
export const storeCommand = async (args: readonly string[], env: NodeJS.ProcessEnv): Promise<number> => {
  const { values, positionals } = parsed(args);
  const [verb, ...rest] = positionals;
  if (values.help === true) {
    process.stdout.write(helpText);
    return 0;
  }
  const isJson = values.json === true;
  switch (verb) {
    case "identify":
      onlyWith(verb, values, ["json"]);
      if (rest.length === 0) throw usage("identify what? Name exported files or tables");
      return identifyStores(rest, { isJson, env });
    case "status":
      onlyWith(verb, values, ["json", ...places]);
      atMost(rest, 0);
      return onTable(values, env, async (context) => showStatus(context, isJson));
    case "export":
      onlyWith(verb, values, places);
      atMost(rest, 1);
      return onTable(values, env, async (context) => exportStatus(context, rest[0]));
    case "shutdown":
      onlyWith(verb, values, ["json", "without", ...places]);
      atMost(rest, 0);
      return onTable(values, env, async (context, place, tables) =>
        showShutdown(await shutDownAll(context, place, tables, values.without ?? []), isJson),
      );
    case "join":
      onlyWith(verb, values, ["timeout", ...places]);
      return onTable(values, env, async (_, place, tables) =>
        tell(
          await joinReplica(
            tables,
            place,
            only(rest, "join what? Name the replica's table"),
            secondsOf(values.timeout),
          ),
        ),
      );
    case "leave":
      onlyWith(verb, values, places);
      return onTable(values, env, async (_, place, tables) =>
        tell(await leaveAs(tables, place, only(rest, "who leaves? Name a store of the cluster"))),
      );
    case "promote":
      onlyWith(verb, values, places);
      atMost(rest, 0);
      return onTable(values, env, async (_, place, tables) => tell(await promoteStore(tables, place)));
    default:
      throw usage(verb === undefined ? "store needs a command" : `unknown command store ${verb}`);
  }
};

const options = {
  json: { type: "boolean" },
  help: { type: "boolean", short: "h" },
  table: { type: "string" },
  endpoint: { type: "string" },
  region: { type: "string" },
  timeout: { type: "string" },
  without: { type: "string", multiple: true },
} as const satisfies ParseArgsConfig["options"];

const places: readonly (keyof typeof options)[] = ["table", "endpoint", "region"];

const parsed = (args: readonly string[]) => {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true });
  } catch (error) {
    throw usage(error instanceof Error ? error.message : String(error));
  }
};

type Values = ReturnType<typeof parsed>["values"];

const usage = (line: string): Failure => new Failure([line], { withHelp: true });

const onlyWith = (verb: string, values: Values, allowed: readonly (keyof typeof options)[]): void => {
  const [other] = Object.keys(values).filter((name) => !allowed.some((known) => known === name));
  if (other !== undefined) throw usage(`store ${verb} takes no --${other}`);
};

const only = (rest: readonly string[], missing: string): string => {
  atMost(rest, 1);
  const [one] = rest;
  if (one === undefined) throw usage(missing);
  return one;
};

const secondsOf = (text: string | undefined): number | undefined => {
  if (text === undefined) return undefined;
  const seconds = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (seconds >= 1 && seconds <= REPLICA_TIMEOUT_SECONDS_MAX) return seconds;
  throw usage(`--timeout must be a whole number of seconds from 1 to ${REPLICA_TIMEOUT_SECONDS_MAX}, not "${text}"`);
};

const tell = (text: string): number => {
  process.stdout.write(text);
  return 0;
};

const atMost = (rest: readonly string[], count: number): void => {
  if (rest.length > count) throw usage(`unexpected argument ${rest[count]}`);
};

/** Runs a command on the one table that is meant. */
const onTable = async (
  { table, endpoint, region }: Values,
  env: NodeJS.ProcessEnv,
  work: (context: StoreContext, place: Place, tables: Tables) => Promise<number>,
): Promise<number> => {
  const place = placeOf({ table, endpoint, region }, env);
  setCredentials([place], env);
  const tables = new Tables();
  try {
    return await reading(`table ${place.table}`, async () => work(await tables.open(place), place, tables));
  } finally {
    await tables.close();
  }
};

const showStatus = async (context: StoreContext, isJson: boolean): Promise<number> => {
  const document = statusDocument(await storeStatus(context));
  process.stdout.write(isJson ? jsonOf(document) : linesOf(document));
  return 0;
};

const exportStatus = async (context: StoreContext, file: string | undefined): Promise<number> => {
  const json = jsonOf(statusDocument(await storeStatus(context)));
  if (file === undefined) process.stdout.write(json);
  else {
    try {
      writeFileSync(file, json);
    } catch (error) {
      throw new Failure([`${file} cannot be written: ${error instanceof Error ? error.message : error}`]);
    }
  }
  return 0;
};

const shutDownAll = async (
  context: StoreContext,
  own: Place,
  tables: Tables,
  without: readonly string[],
): Promise<ShutDown> =>
  shutDown(context, {
    without,
    open: async (member) => (await tables.open(placeBeside(own, member))).store,
  });

const showShutdown = (result: ShutDown, isJson: boolean): number => {
  if (!result.done) throw new Failure(result.problems);
  const { shutdownId, leftOut } = result;
  const stores = result.marked.map(({ storeId, changeCounter }) => ({ storeId, changeCounter: String(changeCounter) }));
  if (isJson) process.stdout.write(jsonOf({ shutdownId, stores, leftOut }));
  else {
    const clean = stores.map(({ storeId, changeCounter }) => `${storeId} is clean at ${changeCounter}\n`);
    const dirty = leftOut.map((storeId) => `${storeId} was left out\n`);
    process.stdout.write([`shutdown ${shutdownId}\n`, ...clean, ...dirty].join(""));
  }
  return 0;
};

const jsonOf = (document: object): string => `${JSON.stringify(document, null, 2)}\n`;

const linesOf = (document: object): string =>
  Object.entries(document)
    .map(([field, value]) => {
      const text = value === null ? "-" : typeof value === "string" ? value : JSON.stringify(value);
      return `${field.padEnd(28)}${text}\n`;
    })
    .join("");
