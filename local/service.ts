import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { feedPids } from "./feeds.ts";
import { endProcesses } from "./processes.ts";
import { tableEnginePids } from "./table-engine.ts";

export interface ServiceWanted {
  /** Default: a new temporary folder, which `stop` removes again. */
  readonly dataDir?: string;
  /** 0, the default, = any free one. */
  readonly port?: number;
  /** More or other environment; `undefined` takes a variable away. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/** What both kinds of started processes can do. */
interface Running {
  readonly dataDir: string;
  /** The numbers of every process that belongs to it and is alive. */
  pids(): readonly number[];
  /** What it has written to stdout and stderr so far. */
  output(): string;
  /** SIGKILL to every one of them at once, engines included; resolves when all are dead. The data folder stays. */
  kill9(): Promise<void>;
  /** Asks it to stop as Ctrl-C does; resolves with its exit code when it has. */
  stop(): Promise<number | null>;
}

/** A service in processes of its own, over real HTTP. */
export interface Service extends Running {
  readonly baseUrl: string;
}

/** A pair of engines that several services can share. */
export interface SharedEngines extends Running {
  readonly dynamodbEndpoint: string;
  readonly sqsEndpoint: string;
}

/**
 * Starts the service as `npm start` does and waits until it listens; rejects with what it said when it does not. It
 * starts again on the same `dataDir` right after `kill9`.
 */
export async function startService(wanted: ServiceWanted = {}): Promise<Service> {
  const env = { PORT: String(wanted.port ?? 0), ...wanted.env };
  const [running, said] = await launch("start.ts", wanted.dataDir, env, /^Cairn listens on (?<baseUrl>\S+)$/m);
  return { ...running, baseUrl: said.baseUrl ?? "" };
}

/** Starts a table engine and a queue engine without an HTTP API. */
export async function startEngines(wanted: Pick<ServiceWanted, "dataDir" | "env"> = {}): Promise<SharedEngines> {
  const line = /^DYNAMODB_ENDPOINT=(?<dynamodb>\S+)\nSQS_ENDPOINT=(?<sqs>\S+)$/m;
  const [running, said] = await launch("start-engines.ts", wanted.dataDir, { ...wanted.env }, line);
  return { ...running, dynamodbEndpoint: said.dynamodb ?? "", sqsEndpoint: said.sqs ?? "" };
}

/** The same one as `npm start` has: tests start a service very often. */
const compileCache = fileURLToPath(new URL("../node_modules/.cache/node", import.meta.url));

async function launch(
  script: string,
  givenDir: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
  ready: RegExp,
): Promise<readonly [Running, Readonly<Record<string, string>>]> {
  const dataDir = resolve(givenDir ?? (await mkdtemp(join(tmpdir(), "cairn-"))));
  const child = spawn(process.execPath, [fileURLToPath(new URL(script, import.meta.url))], {
    // Its own group, so that the terminal's Ctrl-C ends a test run first and then, through CAIRN_PARENT, this.
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      NODE_COMPILE_CACHE: compileCache,
      ...process.env,
      CAIRN_DATA: dataDir,
      CAIRN_PARENT: String(process.pid),
      ...env,
    },
  });
  const exited = new Promise<number | null>((done) => child.once("close", (code) => done(code)));
  const output = collect(child);
  const removeOwn = async (): Promise<void> => {
    if (givenDir === undefined) await rm(dataDir, { recursive: true, force: true });
  };
  const said = await firstMatch(child, output, ready);
  if (said === undefined) {
    const code = await exited;
    await removeOwn();
    throw new Error(`${script} did not start (${child.signalCode ?? `exit code ${code}`}): ${output().trim()}`);
  }
  const pids = (): readonly number[] => [
    ...(child.exitCode === null && child.signalCode === null ? [child.pid ?? 0] : []),
    ...tableEnginePids(dataDir),
    ...feedPids(dataDir),
  ];
  const running: Running = {
    dataDir,
    pids,
    output,
    kill9: async () => {
      await endProcesses(pids());
      await exited;
    },
    stop: async () => {
      child.kill("SIGTERM");
      const code = await exited;
      await removeOwn();
      return code;
    },
  };
  return [running, said];
}

function collect(child: ChildProcess): () => string {
  let text = "";
  const hear = (chunk: Buffer): void => {
    text = (text + chunk.toString()).slice(-1_000_000);
  };
  child.stdout?.on("data", hear);
  child.stderr?.on("data", hear);
  return () => text;
}

/** The named parts of the line it says when it is ready, or nothing when it ends before. */
function firstMatch(
  child: ChildProcess,
  output: () => string,
  ready: RegExp,
): Promise<Readonly<Record<string, string>> | undefined> {
  return new Promise((done) => {
    child.stdout?.on("data", () => {
      const groups = ready.exec(output())?.groups;
      if (groups !== undefined) done(groups);
    });
    child.once("close", () => done(undefined));
  });
}
