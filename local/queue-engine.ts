import { Server } from "node:net";
import { join } from "node:path";
import type { Engine } from "./table-engine.ts";

/**
 * Starts fauxqs inside this process on a free port, its file in `dataDir`, which the caller has to itself. Without one
 * it keeps what it holds in memory.
 */
export async function startQueueEngine(dataDir?: string): Promise<Engine> {
  const { startFauxqs } = await import("fauxqs");
  const server = await onLoopback(() =>
    startFauxqs({ port: 0, logger: false, ...(dataDir !== undefined && { dataDir: join(dataDir, "queues") }) }),
  );
  return {
    endpoint: `http://127.0.0.1:${server.port}`,
    // It lives and dies with this process.
    ended: new Promise(() => {}),
    stop: () => server.stop(),
  };
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
