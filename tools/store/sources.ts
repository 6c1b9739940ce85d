import { readFileSync } from "node:fs";
import { readStoreStatus } from "../../shared/commands/store/status.ts";
import { parseStatus } from "../../shared/domain/store-document.ts";
import type { Candidate } from "../../shared/domain/store-status.ts";
import { Failure } from "./failure.ts";
import { type Place, placeFrom } from "./place.ts";
import { reading } from "./reading.ts";
import { setCredentials, Tables } from "./tables.ts";

/** A store to choose from, and the argument that named it. */
export interface Source extends Candidate {
  readonly source: string;
}

const TABLE = "table:";

/** Reads all stores, exported ones and tables; throws all that is wrong with any of them. */
export const readSources = async (args: readonly string[], env: NodeJS.ProcessEnv): Promise<readonly Source[]> => {
  const places = new Map(args.filter(isTable).map((arg) => [arg, placeFrom(arg.slice(TABLE.length), env)]));
  if (places.size > 0) setCredentials([...places.values()], env);
  const tables = new Tables();
  try {
    const read = await Promise.allSettled(
      args.map(async (arg) => {
        const place = places.get(arg);
        return place === undefined ? readFile(arg) : await readTable(tables, arg, place);
      }),
    );
    const problems = read.flatMap((each) => (each.status === "rejected" ? linesOf(each.reason) : []));
    if (problems.length > 0) throw new Failure(problems);
    return read.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
  } finally {
    await tables.close();
  }
};

const isTable = (arg: string): boolean => arg.startsWith(TABLE);

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
    text = readFileSync(file, "utf8");
  } catch (error) {
    throw new Failure([`${file}: cannot be read: ${error instanceof Error ? error.message : error}`]);
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Failure([`${file}: is not JSON: ${error instanceof Error ? error.message : error}`]);
  }
};

const readTable = async (tables: Tables, source: string, place: Place): Promise<Source> => {
  const status = await reading(source, async () => readStoreStatus(await tables.open(place)));
  return { source, name: status.storeId ?? source.slice(TABLE.length), status };
};
