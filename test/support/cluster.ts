/** A primary with replicas, each on a table of its own, and their feeds in the test's hands. */
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll } from "vitest";
import { applyImages } from "../../shared/commands/replica/apply.ts";
import { Fenced } from "../../shared/commands/replica/commit-fed.ts";
import { giveUp } from "../../shared/commands/replica/give-up.ts";
import { join } from "../../shared/commands/replica/join.ts";
import type { OpenStore } from "../../shared/commands/replica/members.ts";
import { promote } from "../../shared/commands/replica/promote.ts";
import { readStoreStatus } from "../../shared/commands/store/status.ts";
import type { Configuration } from "../../shared/records/store.ts";
import type { Item } from "../../shared/records/write.ts";
import { DynamoStore } from "../../shared/store/dynamodb.ts";
import { type InProcessService, useInProcessService } from "./in-process.ts";
import { enableStream, type TableStream } from "./stream.ts";

/** A table that is fed from the primary's stream, as far as the test lets it. */
export interface Replica {
  readonly table: string;
  readonly store: DynamoStore;
  /** Applies all that the stream has by now. `arrange` may leave out, repeat and reorder. */
  feed(arrange?: (images: readonly Item[]) => readonly Item[]): Promise<void>;
  /** What the stream has brought since the last look at it, for a test that applies it by itself. */
  images(): Promise<readonly Item[]>;
  /** Feeds without end, until `stop`. */
  start(): void;
  stop(): Promise<void>;
}

export interface ClusterUnderTest {
  readonly service: InProcessService;
  /** A new primary with its replicas, fed without end; processes that start now are on it. */
  cluster(replicas: number): Promise<Started>;
}

export interface Started {
  readonly table: string;
  readonly primary: DynamoStore;
  readonly replicas: readonly Replica[];
  readonly open: OpenStore;
  join(replica: Replica, replicaTimeoutSeconds?: number): Promise<Configuration>;
  giveUp(storeId: string): Promise<void>;
  promote(replica: Replica): Promise<Configuration>;
  status(store: DynamoStore): ReturnType<typeof readStoreStatus>;
}

export const useCluster = (): ClusterUnderTest => {
  beforeAll(() => {
    process.env.CAIRN_REPLICATED = "1";
  });
  const service = useInProcessService();
  const all: FedReplica[] = [];
  const streams: SharedStream[] = [];
  afterAll(async () => {
    delete process.env.CAIRN_REPLICATED;
    await Promise.all(all.map((replica) => replica.stop()));
    for (const stream of streams) stream.destroy();
  });
  const open: OpenStore = ({ table }) => new DynamoStore(service.table, table);
  return {
    service,
    async cluster(count) {
      const replicas: FedReplica[] = [];
      const tables = [];
      for (let i = 0; i < count; i++) tables.push(await service.newTable());
      const table = await service.newTable();
      const stream = new SharedStream(
        await enableStream(service.table, process.env.DYNAMODB_ENDPOINT ?? "", table),
        count,
      );
      for (const [i, replica] of tables.entries()) {
        replicas.push(new FedReplica(replica, open({ table: replica }) as DynamoStore, () => stream.images(i)));
      }
      streams.push(stream);
      all.push(...replicas);
      const primary = open({ table }) as DynamoStore;
      const context = { store: primary, now: Date.now };
      return {
        table,
        primary,
        replicas,
        open,
        join: (replica, replicaTimeoutSeconds) =>
          join(context, open, {
            primary: { table },
            replica: { table: replica.table },
            ...(replicaTimeoutSeconds !== undefined && { replicaTimeoutSeconds }),
          }),
        giveUp: (storeId) => giveUp(context, open, storeId),
        promote: async (replica) =>
          (await promote({ store: replica.store, now: Date.now }, { table: replica.table })).configuration,
        status: (store) => readStoreStatus({ store, now: Date.now }),
      };
    },
  };
};

const POLL_MS = 10;

/** One stream read for several: each gets what came since it last looked. */
class SharedStream {
  readonly #stream: TableStream;
  readonly #waiting: readonly Item[][];
  #reading: Promise<void> | undefined;

  constructor(stream: TableStream, readers: number) {
    this.#stream = stream;
    this.#waiting = Array.from({ length: readers }, () => []);
  }

  async images(reader: number): Promise<readonly Item[]> {
    this.#reading ??= this.#read();
    await this.#reading;
    return this.#waiting[reader]?.splice(0) ?? [];
  }

  destroy(): void {
    this.#stream.destroy();
  }

  async #read(): Promise<void> {
    try {
      const images = await this.#stream.read();
      for (const waiting of this.#waiting) waiting.push(...images);
    } finally {
      this.#reading = undefined;
    }
  }
}

class FedReplica implements Replica {
  readonly table: string;
  readonly store: DynamoStore;
  readonly images: () => Promise<readonly Item[]>;
  #running: Promise<void> | undefined;
  #isStopped = false;

  constructor(table: string, store: DynamoStore, images: () => Promise<readonly Item[]>) {
    this.table = table;
    this.store = store;
    this.images = images;
  }

  async feed(arrange: (images: readonly Item[]) => readonly Item[] = (images) => images): Promise<void> {
    await applyImages(this.store, arrange(await this.images()));
  }

  start(): void {
    this.#isStopped = false;
    this.#running ??= this.#run();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#running;
    this.#running = undefined;
  }

  async #run(): Promise<void> {
    try {
      while (!this.#isStopped) {
        await this.feed();
        await sleep(POLL_MS);
      }
    } catch (error) {
      // It was promoted.
      if (!(error instanceof Fenced)) throw error;
    }
  }
}
