/** The operator's command line as a process, with files and tables to work on. */
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll } from "vitest";
import { ensureTable } from "../../local/table.ts";
import { type Engine, startTableEngine } from "../../local/table-engine.ts";
import { statusDocument } from "../../shared/domain/store-document.ts";
import type { StoreStatus } from "../../shared/domain/store-status.ts";
import { storeKey } from "../../shared/records/keys.ts";
import type { Item } from "../../shared/records/write.ts";
import { tableClient } from "../../shared/store/client.ts";
import { DynamoStore } from "../../shared/store/dynamodb.ts";

export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

const root = fileURLToPath(new URL("../../", import.meta.url));
const script = join(root, "tools", "cairn.ts");

/** Runs `cairn <args>` to its end; nothing of the test's own environment tells it where tables are. */
export const runCairn = (args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ran> => {
  const { DYNAMODB_ENDPOINT: _, CAIRN_TABLE: __, CAIRN_DATA: ___, AWS_REGION: ____, ...rest } = process.env;
  const NODE_COMPILE_CACHE = join(root, "node_modules", ".cache", "node");
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [script, ...args],
      { env: { NODE_COMPILE_CACHE, ...rest, ...env } },
      (error, out, err) => {
        resolve({ code: error === null ? 0 : Number(error.code), out, err });
      },
    );
  });
};

export interface CommandLine {
  /** Its data folder, which no service has used. */
  readonly folder: string;
  readonly endpoint: string;
  /** Writes a file of the folder; its path. */
  file(name: string, content: string | StoreStatus): Promise<string>;
  /** A table with that store's record in it, and the records given besides; `table:<name>@<endpoint>` names it. */
  table(name: string, record: Item, others?: readonly Item[]): Promise<string>;
  store(name: string): DynamoStore;
}

/** A folder and a table engine (or the `DYNAMODB_ENDPOINT` given) for the tests of a file. */
export const useCommandLine = (): CommandLine => {
  let folder = "";
  let engine: Engine | undefined;
  let client: ReturnType<typeof tableClient> | undefined;
  let endpoint = "";
  beforeAll(async () => {
    process.env.AWS_REGION ??= "us-east-1";
    process.env.AWS_ACCESS_KEY_ID ??= "local";
    process.env.AWS_SECRET_ACCESS_KEY ??= "local";
    folder = await mkdtemp(join(tmpdir(), "cairn-command-line-"));
    const given = process.env.DYNAMODB_ENDPOINT;
    engine = given === undefined ? await startTableEngine(await mkdtemp(join(folder, "engine-"))) : undefined;
    endpoint = engine?.endpoint ?? given ?? "";
    client = tableClient(endpoint);
  });
  afterAll(async () => {
    client?.destroy();
    await engine?.stop();
    await rm(folder, { recursive: true, force: true });
  });
  const storeOf = (name: string): DynamoStore => {
    if (client === undefined) throw new Error("the engine is not there yet");
    return new DynamoStore(client, name);
  };
  return {
    get folder() {
      return folder;
    },
    get endpoint() {
      return endpoint;
    },
    async file(name, content) {
      const path = join(folder, name);
      await writeFile(path, typeof content === "string" ? content : JSON.stringify(statusDocument(content)));
      return path;
    },
    async table(name, record, others = []) {
      await ensureTable(endpoint, name);
      const items = [{ ...storeKey, ...record }, ...others].filter((item) => Object.keys(item).length > 2);
      for (const item of items) {
        const key = { pk: String(item.pk), sk: String(item.sk) };
        await storeOf(name).commit([{ kind: "put", key, item, require: [], otherwise: "reload" }]);
      }
      return `table:${name}@${endpoint}`;
    },
    store: storeOf,
  };
};
