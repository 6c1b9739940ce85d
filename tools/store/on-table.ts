/** What is done on one table, the service's own: its status, an export of it, its shutdown. Each answers the exit code. */
import { writeFileSync } from "node:fs";
import { catchUp } from "../../shared/commands/replica/catch-up.ts";
import { type ReachedStore, type ShutDown, shutDown } from "../../shared/commands/store/shutdown.ts";
import { storeStatus } from "../../shared/commands/store/status.ts";
import { statusDocument } from "../../shared/domain/store-document.ts";
import type { Member } from "../../shared/domain/store-status.ts";
import { Failure } from "./failure.ts";
import { type Place, type PlaceWanted, placeBeside, placeOf } from "./place.ts";
import { reading } from "./reading.ts";
import { setCredentials, Tables, type WholeContext } from "./tables.ts";

export const showStatus = (wanted: PlaceWanted, env: NodeJS.ProcessEnv, isJson: boolean): Promise<number> =>
  onTable(wanted, env, async (context) => {
    const document = statusDocument(await storeStatus(context));
    process.stdout.write(isJson ? jsonOf(document) : linesOf(document));
    return 0;
  });

export const exportStatus = (wanted: PlaceWanted, env: NodeJS.ProcessEnv, file: string | undefined): Promise<number> =>
  onTable(wanted, env, async (context) => {
    const json = jsonOf(statusDocument(await storeStatus(context)));
    if (file === undefined) process.stdout.write(json);
    else write(file, json);
    return 0;
  });

export const shutDownStore = (
  wanted: PlaceWanted,
  env: NodeJS.ProcessEnv,
  { isJson, without }: { readonly isJson: boolean; readonly without: readonly string[] },
): Promise<number> =>
  onTable(wanted, env, async (context, own, tables) => {
    await catchUp(context.store, tables.beside(own), without);
    const result = await shutDown(context, {
      without,
      check: async (stores) => unequal(stores),
      open: async (member) => (await tables.open(placeBeside(own, member))).store,
    });
    process.stdout.write(textOf(result, isJson));
    return 0;
  });

/** Runs a command on the one table that is meant. */
export const onTable = async (
  wanted: PlaceWanted,
  env: NodeJS.ProcessEnv,
  work: (context: WholeContext, place: Place, tables: Tables) => Promise<number>,
): Promise<number> => {
  const place = placeOf(wanted, env);
  setCredentials([place], env);
  const tables = new Tables();
  try {
    return await reading(`table ${place.table}`, async () => work(await tables.open(place), place, tables));
  } finally {
    await tables.close();
  }
};

const write = (file: string, text: string): void => {
  try {
    writeFileSync(file, text);
  } catch (error) {
    throw new Failure([`${file} cannot be written: ${error instanceof Error ? error.message : error}`]);
  }
};

/** Those that are marked together count as equal: without a primary to level them they must be. */
const unequal = (stores: readonly ReachedStore[]): readonly string[] => {
  const hasPrimary = stores.some(({ store }) => store.configuration?.role !== "replica");
  const counters = new Set(stores.map(({ changeCounter }) => changeCounter));
  if (hasPrimary || counters.size < 2) return [];
  const each = stores.map(({ storeId, changeCounter }) => `${storeId} stands at ${changeCounter}`).join(", ");
  return [`without the primary they cannot be made equal: ${each}`];
};

const textOf = (result: ShutDown, isJson: boolean): string => {
  if (!result.done) throw new Failure(result.problems);
  const { shutdownId, leftOut } = result;
  const stores = result.marked.map(({ storeId, changeCounter }) => ({ storeId, changeCounter: String(changeCounter) }));
  if (isJson) return jsonOf({ shutdownId, stores, leftOut });
  const clean = stores.map(({ storeId, changeCounter }) => `${storeId} is clean at ${changeCounter}\n`);
  const dirty = leftOut.map((storeId) => `${storeId} was left out\n`);
  return [`shutdown ${shutdownId}\n`, ...clean, ...dirty].join("");
};

const jsonOf = (document: object): string => `${JSON.stringify(document, null, 2)}\n`;

const FIELD_WIDTH = 28;

/** A line each. */
const linesOfMembers = (field: string, members: readonly Member[]): string =>
  members
    .map(
      ({ storeId, table, role, state }, i) =>
        `${(i === 0 ? field : "").padEnd(FIELD_WIDTH)}${storeId}  ${table}  ${role}  ${state}\n`,
    )
    .join("");

const linesOf = (document: object): string =>
  Object.entries(document)
    .map(([field, value]) => {
      if (Array.isArray(value)) return linesOfMembers(field, value as readonly Member[]);
      return `${field.padEnd(FIELD_WIDTH)}${value === null ? "-" : value}\n`;
    })
    .join("");
