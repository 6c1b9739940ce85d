import { existsSync, mkdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { StartFailure } from "./start-failure.ts";

/** A data folder that this process alone uses until `release`, or until it dies. */
export interface DataFolder {
  readonly path: string;
  release(): void;
}

/** How long a service that was just killed may take to let go of its folder. */
const patienceMs = 1_500;

/**
 * Makes the folder and takes it for this process. The lock is a file lock that SQLite holds, so the system gives it
 * back at the holder's death, `kill -9` included. Throws `StartFailure` when the folder is in use or cannot be written.
 */
export async function takeDataFolder(path: string): Promise<DataFolder> {
  try {
    makeFolder(path);
  } catch (error) {
    throw unwritable(path, error);
  }
  const untilMs = performance.now() + patienceMs;
  for (;;) {
    const lock = tryLock(path);
    if (lock !== undefined) return { path, release: () => lock.close() };
    if (performance.now() > untilMs) {
      throw new StartFailure(
        `the data folder ${path} is in use by another running service; give this one its own CAIRN_DATA`,
      );
    }
    await sleep(50);
  }
}

/** Not mkdir's own recursion: that never ends in a file system that answers "no such folder" to a creation, as /proc. */
function makeFolder(path: string): void {
  if (existsSync(path)) {
    if (!statSync(path).isDirectory()) throw new Error("it is not a folder");
    return;
  }
  makeFolder(dirname(path));
  try {
    mkdirSync(path);
  } catch (error) {
    // Another start may have made it in between.
    if (!existsSync(path)) throw error;
  }
}

/** The held lock, or nothing while someone else holds it. */
function tryLock(path: string): DatabaseSync | undefined {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(join(path, "lock.db"), { timeout: 0 });
    database.exec("BEGIN EXCLUSIVE");
    return database;
  } catch (error) {
    database?.close();
    if (error instanceof Error && /database is locked/.test(error.message)) return undefined;
    throw unwritable(path, error);
  }
}

function unwritable(path: string, error: unknown): StartFailure {
  const reason = error instanceof Error ? error.message.replace(/, mkdir .*/, "") : String(error);
  return new StartFailure(`cannot write to the data folder ${path} (CAIRN_DATA): ${reason}`);
}
