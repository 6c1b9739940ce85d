import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { freePort } from "./free-port.ts";
import { endProcesses, isAlive } from "./processes.ts";
import { StartFailure } from "./start-failure.ts";

/** A running engine. `stop` resolves when its process is gone. */
export interface Engine {
  readonly endpoint: string;
  /** Resolves with one line when the engine ends without having been asked to. */
  readonly ended: Promise<string>;
  stop(): Promise<void>;
}

/** A port that was free a moment ago may be taken by the time the engine binds it. */
const attempts = 5;

/**
 * Starts Dynoxide on a free port with its database in `dataDir`, which the caller has to itself. `isKept` false: in memory, for
 * who needs nothing of it after its end.
 */
export async function startTableEngine(dataDir: string, isKept = true): Promise<Engine> {
  const binary = findBinary();
  const pidFile = join(dataDir, "table-engine.pid");
  await endProcesses(recordedPids(pidFile));
  const database = isKept ? join(dataDir, "table.db") : undefined;
  for (let attempt = 1; ; attempt += 1) {
    const started = await launch(binary, database, pidFile, await freePort());
    if (typeof started !== "string") {
      if (database !== undefined) indexStreams(database);
      return started;
    }
    if (attempt === attempts || !/in use/.test(started))
      throw new StartFailure(`the table engine did not start: ${started}`);
  }
}

/** The engine looks through all that a stream ever had at each write to its table, with no index of its own for that. */
function indexStreams(path: string): void {
  const database = new DatabaseSync(path, { timeout: 2_000 });
  try {
    database.exec(
      "CREATE INDEX IF NOT EXISTS cairn_streams ON _stream_records(table_name, CAST(sequence_number AS INTEGER))",
    );
  } finally {
    database.close();
  }
}

/**
 * The processes of the table engine that last ran on `dataDir`: the guard's and the engine's own. Empty when none was
 * recorded or the numbers belong to something else by now.
 */
export function tableEnginePids(dataDir: string): readonly number[] {
  return recordedPids(join(dataDir, "table-engine.pid"));
}

/**
 * The engine must not outlive the runner, and must not get the terminal's Ctrl-C before the runner has drained.
 * So a shell of its own session starts it and reads from the runner: at the end of that pipe, `kill -9` of the runner
 * included, it kills the engine. The engine's number goes to a file first, for the start after a death of both.
 */
const guard = `pids="$1"; shift
"$@" </dev/null &
echo "$$ $!" >"$pids"
exec >&- 2>&-
read -r _
kill -9 $! && wait`;

async function launch(
  binary: string,
  database: string | undefined,
  pidFile: string,
  port: number,
): Promise<Engine | string> {
  const child = spawn(
    "/bin/sh",
    [
      "-c",
      guard,
      "cairn-engine-guard",
      pidFile,
      binary,
      "serve",
      "--host",
      "127.0.0.1",
      "--port",
      String(port),
      ...(database === undefined ? [] : ["--db-path", database]),
    ],
    { detached: true, stdio: ["pipe", "pipe", "pipe"] },
  );
  let said = "";
  let stopping = false;
  const listening = new Promise<boolean>((resolve, reject) => {
    const hear = (chunk: Buffer) => {
      said = (said + chunk.toString()).slice(-2_000);
      if (said.includes("listening on")) resolve(true);
    };
    child.stdout.on("data", hear);
    child.stderr.on("data", hear);
    // Only the engine holds the other end of its output, so the end of the output is the end of the engine.
    child.stdout.on("close", () => resolve(false));
    child.on("error", (error) => reject(new StartFailure(`the table engine did not start: ${error.message}`)));
  });
  child.stdin.on("error", () => {});
  const ended = new Promise<string>((resolve) => {
    child.stdout.on("close", () => {
      if (!stopping) resolve(`the table engine ended: ${lastLine(said)}`);
    });
  });
  const stop = async (): Promise<void> => {
    stopping = true;
    await stopGently(child, pidFile);
  };
  if (!(await listening)) {
    await stop();
    return lastLine(said);
  }
  return { endpoint: `http://127.0.0.1:${port}`, ended, stop };
}

async function stopGently(guardProcess: ChildProcess, pidFile: string): Promise<void> {
  for (const engine of recordedPids(pidFile).filter((pid) => pid !== guardProcess.pid)) {
    process.kill(engine, "SIGTERM");
    for (let waitedMs = 0; waitedMs < 2_000 && isAlive(engine); waitedMs += 10) await sleep(10);
  }
  if (guardProcess.exitCode === null && guardProcess.signalCode === null) {
    const exited = new Promise((resolve) => guardProcess.once("exit", resolve));
    guardProcess.stdin?.end();
    await exited;
  }
  rmSync(pidFile, { force: true });
}

function recordedPids(pidFile: string): readonly number[] {
  if (!existsSync(pidFile)) return [];
  const pids = readFileSync(pidFile, "utf8")
    .trim()
    .split(" ")
    .map(Number)
    .filter((pid) => pid > 1);
  // A number is used again after a reboot: only a process that names this folder is the engine's.
  return pids.filter((pid) => isAlive(pid, dirname(pidFile)));
}

function findBinary(): string {
  const name = `@dynoxide/${process.platform}-${process.arch}`;
  try {
    const here = createRequire(fileURLToPath(import.meta.url));
    const binary = join(dirname(here.resolve(`${name}/package.json`)), "dynoxide");
    if (existsSync(binary)) return binary;
  } catch {
    // Falls through to the line that says what to do instead.
  }
  throw new StartFailure(
    `no table engine for this platform (${name} is not installed); set DYNAMODB_ENDPOINT to a DynamoDB or DynamoDB Local of yours`,
  );
}

function lastLine(text: string): string {
  return text.trim().split("\n").at(-1) || "it said nothing";
}
