import { existsSync } from "node:fs";
import { Server } from "node:net";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { FauxqsServer } from "fauxqs";
import type { Engine } from "./table-engine.ts";

export interface QueueEngine extends Engine {
  /** The engine itself, for whoever shares its process. */
  readonly server: Pick<FauxqsServer, "createQueue" | "deleteQueue" | "inspectQueue" | "sendMessage">;
}

/**
 * Starts fauxqs inside this process on a free port, its file in `dataDir`, which the caller has to itself. Without one
 * it keeps what it holds in memory.
 */
export async function startQueueEngine(dataDir?: string): Promise<QueueEngine> {
  const { startFauxqs } = await import("fauxqs");
  const folder = dataDir === undefined ? undefined : join(dataDir, "queues");
  if (folder !== undefined) showAll(join(folder, "fauxqs.db"));
  const server = await onLoopback(() =>
    startFauxqs({ port: 0, logger: false, ...(folder !== undefined && { dataDir: folder }) }),
  );
  return {
    endpoint: `http://127.0.0.1:${server.port}`,
    // It lives and dies with this process.
    ended: new Promise(() => {}),
    server,
    stop: () => server.stop(),
  };
}

/**
 * Whoever had taken messages died with the engine that gave them: they need not stay out of sight until their time is
 * over. A consumer that lives on elsewhere sees them delivered twice, as from any queue.
 */
function showAll(file: string): void {
  if (!existsSync(file)) return;
  const database = new DatabaseSync(file);
  try {
    database.exec("UPDATE sqs_messages SET receipt_handle = NULL, visibility_deadline = NULL");
  } finally {
    database.close();
  }
}

/** fauxqs listens on every interface and takes no other word for it; nothing local may be reached from outside. */
async function onLoopback<T>(start: () => Promise<T>): Promise<T> {
  const listen = Server.prototype.listen;
  const onlyHere = function (this: Server, options: object, ...rest: unknown[]): Server {
    return Reflect.apply(listen, this, [{ ...options, host: "127.0.0.1" }, ...rest]);
  };
  Object.assign(Server.prototype, { listen: onlyHere });
  try {
    return await start();
  } finally {
    Object.assign(Server.prototype, { listen });
  }
}
