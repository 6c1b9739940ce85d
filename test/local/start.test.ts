import { spawn } from "node:child_process";
import { mkdtemp, readdir, readFile, readlink, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DynamoDBClient, GetItemCommand, PutItemCommand } from "@aws-sdk/client-dynamodb";
import {
  CreateQueueCommand,
  GetQueueUrlCommand,
  ReceiveMessageCommand,
  SendMessageCommand,
  SQSClient,
} from "@aws-sdk/client-sqs";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { table } from "../../cdk/table.ts";
import { loadLambda } from "../../local/handlers.ts";
import { isAlive } from "../../local/processes.ts";
import { type Service, type ServiceWanted, startEngines, startService } from "../../local/service.ts";
import { StartFailure } from "../../local/start-failure.ts";
import { ensureTable } from "../../local/table.ts";
import { startTableEngine, tableEnginePids } from "../../local/table-engine.ts";

/** These tests are about the engines that the start brings, whatever the rest of the suite runs against. */
const ownEngines = { DYNAMODB_ENDPOINT: undefined, SQS_ENDPOINT: undefined, CAIRN_SCHEDULE_SECONDS: "0" };

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "cairn-local-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function started(wanted: ServiceWanted): Promise<Service> {
  const service = await startService({ ...wanted, env: { ...ownEngines, ...wanted.env } });
  onTestFinished(() => service.kill9());
  return service;
}

const repository = new URL("../..", import.meta.url);

interface Run {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function npmStart(args: readonly string[], env: Readonly<Record<string, string | undefined>>): Promise<Run> {
  const child = spawn(process.execPath, ["local/setup.mjs", "local/start.ts", ...args], {
    cwd: repository,
    env: { ...process.env, ...ownEngines, ...env },
  });
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (chunk) => {
    stdout += chunk;
  });
  child.stderr.on("data", (chunk) => {
    stderr += chunk;
  });
  return new Promise((resolve) => child.once("close", (code) => resolve({ code, stdout, stderr })));
}

describe("a start", () => {
  test("refuses the table of a replica, and says what makes it a primary", async () => {
    const dataDir = join(folder, "replica");
    const first = await started({ dataDir });
    await first.stop();
    const engine = await startTableEngine(dataDir);
    const client = new DynamoDBClient({ endpoint: engine.endpoint, ...local });
    const Item = { [table.partitionKey]: { S: "STORE" }, [table.sortKey]: { S: "STATUS" }, role: { S: "replica" } };
    await client.send(new PutItemCommand({ TableName: "cairn", Item }));
    client.destroy();
    await engine.stop();
    const { code, stderr } = await npmStart([], { CAIRN_DATA: dataDir, PORT: "0" });
    expect(code).toBe(1);
    expect(stderr).toContain('the table "cairn" is a replica; `npm run -s cairn -- store promote --table cairn`');
  });

  test("answers within 3 s", async () => {
    const tookMs: number[] = [];
    // One of three, in units of what this machine has left: what else runs on it meanwhile is not what is tested.
    while (tookMs.length < 3 && !tookMs.some((ms) => ms < 3_000)) {
      const before = slowdown();
      const beganMs = performance.now();
      const service = await started({});
      const answer = await fetch(`${service.baseUrl}/health`);
      const wallMs = performance.now() - beganMs;
      tookMs.push(wallMs / Math.max(before, slowdown()));
      expect(await answer.json()).toMatchObject({ status: "ok" });
      await service.stop();
    }
    expect(Math.min(...tookMs)).toBeLessThan(3_000);
  });

  test("says where it listens, in one line, and listens on this machine only", async () => {
    const service = await started({ dataDir: join(folder, "one") });
    expect(await listeningAddresses(service.pids())).toEqual(new Set(["127.0.0.1"]));
    expect(service.output()).toBe(`Cairn listens on ${service.baseUrl}\n`);
    expect(service.baseUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  });

  test("runs beside another one, and stops without leaving a process", async () => {
    const [one, two] = await Promise.all([
      started({ dataDir: join(folder, "left") }),
      started({ dataDir: join(folder, "right") }),
    ]);
    expect(one.baseUrl).not.toBe(two.baseUrl);
    const pids = one.pids();
    expect(pids).toHaveLength(3);
    expect(await one.stop()).toBe(0);
    expect(pids.filter((pid) => isAlive(pid))).toEqual([]);
    expect((await fetch(`${two.baseUrl}/health`)).status).toBe(200);
  });

  test("ends with everything it started at Ctrl-C", async () => {
    const dataDir = join(folder, "interrupted");
    const terminal = spawn(process.execPath, ["local/setup.mjs", "local/start.ts"], {
      cwd: repository,
      env: { ...process.env, ...ownEngines, PORT: "0", CAIRN_DATA: dataDir },
      detached: true,
    });
    const ended = new Promise((resolve) => terminal.once("close", resolve));
    await new Promise((resolve) => terminal.stdout.once("data", resolve));
    const engine = tableEnginePids(dataDir);
    expect(engine).toHaveLength(2);
    // A terminal tells the whole group.
    process.kill(-(terminal.pid ?? 0), "SIGINT");
    expect(await ended).toBe(0);
    expect(engine.filter((pid) => isAlive(pid))).toEqual([]);
  });

  test("without a table engine for this platform says what to do instead", async () => {
    const platform = Object.getOwnPropertyDescriptor(process, "platform") ?? {};
    onTestFinished(() => void Object.defineProperty(process, "platform", platform));
    Object.defineProperty(process, "platform", { ...platform, value: "plan9" });
    const starting = startTableEngine(folder);
    await expect(starting).rejects.toThrow(StartFailure);
    await expect(starting).rejects.toThrow(/@dynoxide\/plan9-.* is not installed.*set DYNAMODB_ENDPOINT/);
  });

  test("without a handler's file says which is missing", async () => {
    const loading = loadLambda("queues/never-written");
    await expect(loading).rejects.toThrow(StartFailure);
    await expect(loading).rejects.toThrow("lambdas/queues/never-written.ts is missing");
  });

  test("--help names every setting", async () => {
    const { code, stdout } = await npmStart(["--help"], {});
    expect(code).toBe(0);
    for (const name of [
      "PORT",
      "CAIRN_DATA",
      "CAIRN_TABLE",
      "DYNAMODB_ENDPOINT",
      "SQS_ENDPOINT",
      "CAIRN_SCHEDULE_SECONDS",
    ]) {
      expect(stdout).toMatch(new RegExp(`^  ${name} .*\\[.+\\]$`, "ms"));
    }
  });

  test("that cannot succeed says why in one line", async () => {
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void taken.close());
    const address = taken.address();
    const port = typeof address === "object" ? String(address?.port) : "";
    const file = join(folder, "file");
    await writeFile(file, "");
    const inUse = await started({ dataDir: join(folder, "used") });

    const failures = await Promise.all([
      npmStart([], { PORT: port, CAIRN_DATA: join(folder, "port") }),
      npmStart([], { PORT: "0", CAIRN_DATA: file }),
      npmStart([], { PORT: "0", CAIRN_DATA: join(file, "below") }),
      npmStart([], { PORT: "0", CAIRN_DATA: inUse.dataDir }),
      npmStart([], { PORT: "http", CAIRN_DATA: join(folder, "never") }),
      npmStart(["--port", "1"], { CAIRN_DATA: join(folder, "never") }),
    ]);
    expect(failures.map(({ stderr }) => stderr)).toEqual([
      `cairn: port ${port} is in use; choose another PORT\n`,
      expect.stringMatching(/^cairn: cannot write to the data folder .*\/file \(CAIRN_DATA\): .*\n$/),
      expect.stringMatching(/^cairn: cannot write to the data folder .*\/below \(CAIRN_DATA\): .*\n$/),
      expect.stringMatching(/^cairn: the data folder .*\/used is in use by another running service.*\n$/),
      expect.stringMatching(/^cairn: PORT must be .*\n$/),
      expect.stringMatching(/^cairn: unknown argument --port.*\n$/),
    ]);
    for (const { code, stdout } of failures) expect([code, stdout]).toEqual([1, ""]);
  });
});

describe("kill -9", () => {
  test("of the runner alone ends its engine, and the folder is free again", async () => {
    const service = await started({ dataDir: join(folder, "runner") });
    const [runner = 0, ...engine] = service.pids();
    expect(engine).toHaveLength(2);
    process.kill(runner, "SIGKILL");
    await expect.poll(() => engine.filter((pid) => isAlive(pid)), { timeout: 2_000 }).toEqual([]);
    const next = await started({ dataDir: service.dataDir });
    expect((await fetch(`${next.baseUrl}/health`)).status).toBe(200);
  });

  test("of everything but the engine leaves an engine that the next start ends", async () => {
    const service = await started({ dataDir: join(folder, "orphan") });
    const [runner = 0, guard = 0, engine = 0] = service.pids();
    process.kill(guard, "SIGKILL");
    process.kill(runner, "SIGKILL");
    await expect.poll(() => isAlive(runner)).toBe(false);
    expect(isAlive(engine)).toBe(true);
    await started({ dataDir: service.dataDir });
    expect(isAlive(engine)).toBe(false);
  });

  test("of every process loses nothing that was acknowledged, again and again", async () => {
    const dataDir = join(folder, "engines");
    const names = ["first", "second", "third"];
    for (const name of names) {
      const engines = await startEngines({ dataDir });
      onTestFinished(() => engines.kill9());
      await ensureTableThere(engines.dynamodbEndpoint);
      await put(engines.dynamodbEndpoint, name);
      await send(engines.sqsEndpoint, name);
      await engines.kill9();
    }
    const engines = await startEngines({ dataDir });
    onTestFinished(() => engines.kill9());
    expect(await Promise.all(names.map((name) => has(engines.dynamodbEndpoint, name)))).toEqual([true, true, true]);
    expect(await receiveAll(engines.sqsEndpoint)).toEqual([...names].sort());
  });
});

/** How many seconds pass for a second of work: 1 on an idle machine, 4 where three others want the same processor. */
function slowdown(): number {
  const beganMs = performance.now();
  const cpu = process.cpuUsage();
  const workMs = (): number => (process.cpuUsage(cpu).user + process.cpuUsage(cpu).system) / 1_000;
  while (workMs() < 100);
  return Math.max(1, (performance.now() - beganMs) / workMs());
}

/** The addresses that sockets of these processes listen on, as the system lists them. */
async function listeningAddresses(pids: readonly number[]): Promise<ReadonlySet<string>> {
  const tables = await Promise.all(
    ["tcp", "tcp6"].map((name) => readFile(`/proc/net/${name}`, "utf8").catch(() => "")),
  );
  const sockets = new Set((await Promise.all(pids.map(socketsOf))).flat());
  const listening = tables.flatMap((text) =>
    text.split("\n").flatMap((line) => {
      const [, address = "", , state, , , , , , inode = ""] = line.trim().split(/\s+/);
      return state === "0A" && sockets.has(inode) ? [address.split(":")[0] ?? ""] : [];
    }),
  );
  return new Set(listening.map((address) => (address === "0100007F" ? "127.0.0.1" : address)));
}

async function socketsOf(pid: number): Promise<readonly string[]> {
  const files = await readdir(`/proc/${pid}/fd`);
  const targets = await Promise.all(files.map((file) => readlink(`/proc/${pid}/fd/${file}`).catch(() => "")));
  return targets.flatMap((target) => /^socket:\[(\d+)\]$/.exec(target)?.[1] ?? []);
}

const local = { region: "us-east-1", credentials: { accessKeyId: "local", secretAccessKey: "local" } };
const keyOf = (name: string) => ({ [table.partitionKey]: { S: name }, [table.sortKey]: { S: name } });

async function ensureTableThere(endpoint: string): Promise<void> {
  process.env.AWS_REGION ??= local.region;
  process.env.AWS_ACCESS_KEY_ID ??= "local";
  process.env.AWS_SECRET_ACCESS_KEY ??= "local";
  await ensureTable(endpoint, "cairn");
}

async function put(endpoint: string, name: string): Promise<void> {
  await new DynamoDBClient({ ...local, endpoint }).send(new PutItemCommand({ TableName: "cairn", Item: keyOf(name) }));
}

async function has(endpoint: string, name: string): Promise<boolean> {
  const client = new DynamoDBClient({ ...local, endpoint });
  const answer = await client.send(new GetItemCommand({ TableName: "cairn", Key: keyOf(name), ConsistentRead: true }));
  return answer.Item !== undefined;
}

async function send(endpoint: string, text: string): Promise<void> {
  const client = new SQSClient({ ...local, endpoint });
  await client.send(new CreateQueueCommand({ QueueName: "commands" }));
  await client.send(new SendMessageCommand({ QueueUrl: `${endpoint}/000000000000/commands`, MessageBody: text }));
}

async function receiveAll(endpoint: string): Promise<readonly string[]> {
  const client = new SQSClient({ ...local, endpoint });
  await client.send(new GetQueueUrlCommand({ QueueName: "commands" }));
  const QueueUrl = `${endpoint}/000000000000/commands`;
  const answer = await client.send(new ReceiveMessageCommand({ QueueUrl, MaxNumberOfMessages: 10 }));
  return (answer.Messages ?? []).map((message) => message.Body ?? "").sort();
}
