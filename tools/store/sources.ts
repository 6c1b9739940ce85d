import { readFileSync } from "node:fs";
import type { StoreContext } from "../../shared/commands/store/counted.ts";
import { readStoreStatus } from "../../shared/commands/store/status.ts";
import { parseStatus } from "../../shared/domain/store-document.ts";
import type { Candidate } from "../../shared/domain/store-status.ts";
import { Failure } from "./failure.ts";
import { type Place, placeFrom } from "./place.ts";
import { reading } from "./reading.ts";

/** A store to choose from, and the argument that named it. */
export interface Source extends Candidate {
  readonly source: string;
}

const TABLE = "table:";

/** Reads all stores, exported ones and tables; throws all that is wrong with any of them. */
export const readSources = async (args: readonly string[], env: NodeJS.ProcessEnv): Promise<readonly Source[]> => {
  const tables = await openTables(args.filter(isTable), env);
  try {
    const read = await Promise.allSettled(args.map(async (arg) => tables?.find(arg)?.() ?? readFile(arg)));
    const problems = read.flatMap((each) => (each.status === "rejected" ? linesOf(each.reason) : []));
    const withHelp = read.some((each) => each.status === "rejected" && isMisused(each.reason));
    if (problems.length > 0) throw new Failure(problems, { withHelp });
    return read.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
  } finally {
    await tables?.close();
  }
};

const isTable = (arg: string): boolean => arg.startsWith(TABLE);

const isMisused = (error: unknown): boolean => error instanceof Failure && error.withHelp;

const linesOf = (error: unknown): readonly string[] => {
  if (error instanceof Failure) return error.lines;
  throw error;
};

const readFile = (source: string): Source => {
  const parsed = parseStatus(jsonOf(source));
  if ("errors" in parsed) {
    throw new Failure(
      parsed.errors.map(({ path, message }) => `${source}: ${path === "" ? "" : `${path} `}${message}`),
    );
  }
  return { source, name: parsed.status.storeId ?? source, status: parsed.status };
};

const jsonOf = (file: string): unknown => {
  let text: string;
  try {
    text = readFileSync(file, "utf8").replace(/^\uFEFF/, "");
  } catch (error) {
    throw new Failure([`${file}: cannot be read: ${error instanceof Error ? error.message : error}`]);
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Failure([`${file}: is not JSON: ${error instanceof Error ? error.message : error}`]);
  }
};

/** By the argument that names it, how to read a table. Files alone need none of what tables need. */
const openTables = async (args: readonly string[], env: NodeJS.ProcessEnv) => {
  if (args.length === 0) return undefined;
  const { setCredentials, Tables } = await import("./tables.ts");
  const places = new Map(args.map((arg) => [arg, placeOrFailure(arg, env)]));
  setCredentials(
    [...places.values()].flatMap((place) => (place instanceof Failure ? [] : [place])),
    env,
  );
  const tables = new Tables();
  return {
    find(source: string): (() => Promise<Source>) | undefined {
      const place = places.get(source);
      if (place instanceof Failure) return () => Promise.reject(place);
      return place && (() => readTable(source, () => tables.open(place)));
    },
    close: () => tables.close(),
  };
};

/** What is wrong with one is told beside what is wrong with the others. */
const placeOrFailure = (arg: string, env: NodeJS.ProcessEnv): Place | Failure => {
  try {
    return placeFrom(arg.slice(TABLE.length), env);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return new Failure(
      error.lines.map((line) => `${arg}: ${line}`),
      error,
    );
  }
};

const readTable = async (source: string, open: () => Promise<StoreContext>): Promise<Source> => {
  const status = await reading(source, async () => readStoreStatus(await open()));
  return { source, name: status.storeId ?? source.slice(TABLE.length), status };
};
