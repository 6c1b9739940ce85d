import { type ParseArgsConfig, parseArgs } from "node:util";
import { REPLICA_TIMEOUT_SECONDS_MAX } from "../../shared/domain/limits.ts";
import { Failure } from "./failure.ts";
import { helpText } from "./help.ts";
import { identifyStores } from "./identify.ts";

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
      return (await verbsOfTables()).showStatus(values, env, isJson);
    case "export":
      onlyWith(verb, values, places);
      atMost(rest, 1);
      return (await verbsOfTables()).exportStatus(values, env, rest[0]);
    case "shutdown":
      onlyWith(verb, values, ["json", "without", ...places]);
      atMost(rest, 0);
      return (await verbsOfTables()).shutDownStore(values, env, { isJson, without: values.without ?? [] });
    case "join":
      onlyWith(verb, values, ["timeout", ...places]);
      return (await verbsOfClusters()).joinReplica(values, env, {
        replica: only(rest, "join what? Name the replica's table"),
        timeoutSeconds: secondsOf(values.timeout),
      });
    case "leave":
      onlyWith(verb, values, places);
      return (await verbsOfClusters()).leaveAs(values, env, only(rest, "who leaves? Name a store of the cluster"));
    case "promote":
      onlyWith(verb, values, ["incomplete", ...places]);
      atMost(rest, 0);
      return (await verbsOfClusters()).promoteStore(values, env, values.incomplete === true);
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
  incomplete: { type: "boolean" },
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

const atMost = (rest: readonly string[], count: number): void => {
  if (rest.length > count) throw usage(`unexpected argument ${rest[count]}`);
};

const only = (rest: readonly string[], missing: string): string => {
  atMost(rest.slice(1), 0);
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

/** Loaded when it is needed: what opens tables takes longer to load than exported files take to compare. */
const verbsOfTables = () => import("./on-table.ts");
const verbsOfClusters = () => import("./membership.ts");
