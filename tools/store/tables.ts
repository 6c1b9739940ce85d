import { existsSync } from "node:fs";
import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { awsEnvironment } from "../../local/credentials.ts";
import { takeDataFolder } from "../../local/data-folder.ts";
import { StartFailure } from "../../local/start-failure.ts";
import { startTableEngine } from "../../local/table-engine.ts";
import type { OpenStore } from "../../shared/commands/replica/members.ts";
import type { StoreContext } from "../../shared/commands/store/counted.ts";
import { tableClient } from "../../shared/store/client.ts";
import { DynamoStore } from "../../shared/store/dynamodb.ts";
import type { WholeStore } from "../../shared/store/port.ts";
import { Failure } from "./failure.ts";
import { type Place, placeBeside } from "./place.ts";

/** What a command has of a table. */
export type WholeContext = StoreContext & { readonly store: WholeStore };

type Remote = Extract<Place["at"], { readonly endpoint: string }>;

/** The tables that a command opens, in one place or several. `close` ends what was begun for them. */
export class Tables {
  readonly #clients = new Map<string, DynamoDBClient>();
  readonly #started = new Map<string, string>();
  readonly #engines = new Map<string, Promise<{ readonly endpoint: string; stop(): Promise<void> }>>();

  /** The context of a command on that table; nothing is asked of it yet, but a stopped local engine is started. */
  async open({ table, at }: Place): Promise<WholeContext> {
    if ("local" in at) this.#started.set(at.local, (await this.#engine(at.local)).endpoint);
    const remote = "local" in at ? { endpoint: this.#endpointOf(at.local) } : at;
    return { store: this.#store(table, remote), now: Date.now };
  }

  /** Opens the members of a cluster from the place of one of them, which is open. */
  beside(own: Place): OpenStore {
    return (member) => {
      const { table, at } = placeBeside(own, member);
      return this.#store(table, "local" in at ? { endpoint: this.#endpointOf(at.local) } : at);
    };
  }

  async close(): Promise<void> {
    for (const client of this.#clients.values()) client.destroy();
    for (const engine of this.#engines.values()) await (await engine.catch(() => undefined))?.stop();
  }

  #endpointOf(dataDir: string): string {
    const endpoint = this.#started.get(dataDir);
    if (endpoint === undefined) throw new Error(`the engine of ${dataDir} was not started`);
    return endpoint;
  }

  #store(table: string, { endpoint, region }: Remote): DynamoStore {
    const name = `${endpoint} ${region}`;
    const known = this.#clients.get(name);
    const client = known ?? tableClient(endpoint, region);
    if (known === undefined) this.#clients.set(name, client);
    return new DynamoStore(client, table);
  }

  #engine(dataDir: string) {
    const known = this.#engines.get(dataDir);
    const engine = known ?? startEngine(dataDir);
    this.#engines.set(dataDir, engine);
    return engine;
  }
}

/** Tells the SDK who asks: made-up credentials for what is no AWS endpoint, when the user has none. */
export const setCredentials = (places: readonly Place[], env: NodeJS.ProcessEnv): void => {
  const endpoints = places.map(({ at }) => ("local" in at ? "http://127.0.0.1" : at.endpoint));
  for (const [name, value] of Object.entries(awsEnvironment(env, endpoints))) {
    if (value === undefined) delete env[name];
    else env[name] = value;
  }
};

/** Alone on the folder, so that no service starts on it meanwhile. */
const startEngine = async (dataDir: string) => {
  if (!existsSync(dataDir)) throw new Failure([`there is no folder ${dataDir}`]);
  try {
    const folder = await takeDataFolder(dataDir);
    try {
      const engine = await startTableEngine(dataDir);
      const stop = async () => {
        await engine.stop();
        folder.release();
      };
      return { endpoint: engine.endpoint, stop };
    } catch (error) {
      folder.release();
      throw error;
    }
  } catch (error) {
    throw error instanceof StartFailure ? new Failure([error.message]) : error;
  }
};
