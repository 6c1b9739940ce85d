import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DeleteItemCommand, DescribeTableCommand, type DynamoDBClient, PutItemCommand } from "@aws-sdk/client-dynamodb";
import { marshall } from "@aws-sdk/util-dynamodb";
import type { DynamoDBStreamEvent } from "aws-lambda";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { awsEnvironment } from "../../local/credentials.ts";
import { type Feeds, feedPids, startFeeds } from "../../local/feeds.ts";
import { endProcesses } from "../../local/processes.ts";
import { startService } from "../../local/service.ts";
import { startStreamSource } from "../../local/stream-source.ts";
import { ensureTable } from "../../local/table.ts";
import { type Engine, startTableEngine } from "../../local/table-engine.ts";
import { tableClient } from "../../shared/store/client.ts";
import { DynamoStore } from "../../shared/store/dynamodb.ts";
import { imagesOf } from "../../shared/store/stream.ts";
import {
  countedOn,
  expected,
  journalsOf,
  type Life,
  runLife,
  settingsLife,
  shown,
} from "../commands/replica/feeding.ts";
import { eventually } from "../support/poll.ts";

const until = (isSo: () => boolean | Promise<boolean>): Promise<void> =>
  eventually(async () => expect(await isSo()).toBe(true), { withinMs: 10_000, everyMs: 10 });

let dataDir = "";
let engine: Engine;
let client: DynamoDBClient;

beforeEach(async () => {
  for (const [name, value] of Object.entries(awsEnvironment({}, [])))
    if (value !== undefined) process.env[name] = value;
  dataDir = await mkdtemp(join(tmpdir(), "cairn-stream-"));
  await start();
});
afterEach(async () => {
  client.destroy();
  await engine.stop();
  await rm(dataDir, { recursive: true, force: true });
});

const start = async (): Promise<void> => {
  engine = await startTableEngine(dataDir);
  client = tableClient(engine.endpoint);
};

const put = (item: object, table = "primary") =>
  client.send(new PutItemCommand({ TableName: table, Item: marshall(item) }));

/** A source in this process; what it hands on is collected, and `fail` may refuse it. */
const collecting = (fail: () => boolean = () => false) => {
  const events: DynamoDBStreamEvent[] = [];
  const log: string[] = [];
  const source = startStreamSource({
    endpoint: engine.endpoint,
    tableName: "primary",
    lambda: "stream/replicate",
    handler: (event) => {
      if (fail()) throw new Error("not now");
      events.push(JSON.parse(JSON.stringify(event)));
    },
    batchSize: 3,
    positionFile: join(dataDir, "position.json"),
    log: (line) => log.push(line),
  });
  const numbers = () => events.flatMap(({ Records }) => imagesOf(Records).map(({ n }) => n));
  return { source, events, log, numbers };
};

test("hands on each change as Lambda would, in order and in batches, and goes on after a stop where it was", async () => {
  await ensureTable(engine.endpoint, "primary", { stream: true });
  const bytes = new Uint8Array([1, 2, 3]);
  for (let n = 0; n < 4; n++) await put({ pk: "p", sk: "s", n, b: bytes, l: [{ deep: bytes }] });
  await client.send(new DeleteItemCommand({ TableName: "primary", Key: marshall({ pk: "p", sk: "s" }) }));
  const first = collecting();
  await until(() => first.numbers().length === 4 && first.events.flatMap(({ Records }) => Records).length === 5);
  await first.source.stop();
  expect(first.numbers()).toEqual([0, 1, 2, 3]);
  expect(first.events.every(({ Records }) => Records.length <= 3)).toBe(true);
  const records = first.events.flatMap(({ Records }) => Records);
  expect(records.map(({ eventName }) => eventName)).toEqual(["INSERT", "MODIFY", "MODIFY", "MODIFY", "REMOVE"]);
  expect(records[0]).toMatchObject({
    eventSource: "aws:dynamodb",
    dynamodb: { Keys: { pk: { S: "p" } }, NewImage: { b: { B: "AQID" } }, StreamViewType: "NEW_AND_OLD_IMAGES" },
  });
  expect(imagesOf(records)[0]).toEqual({ pk: "p", sk: "s", n: 0, b: bytes, l: [{ deep: bytes }] });

  await put({ pk: "p", sk: "s", n: 5 });
  const second = collecting();
  await put({ pk: "p", sk: "s", n: 6 });
  await until(() => second.numbers().length === 2);
  await second.source.stop();
  expect(second.numbers()).toEqual([5, 6]);
});

test("brings what failed again, before all that comes after it, and says so once", async () => {
  await ensureTable(engine.endpoint, "primary", { stream: true });
  for (let n = 0; n < 5; n++) await put({ pk: "p", sk: "s", n });
  let failures = 3;
  const { source, log, numbers } = collecting(() => failures-- > 0);
  await until(() => numbers().length === 5);
  await source.stop();
  expect(numbers()).toEqual([0, 1, 2, 3, 4]);
  expect(log).toEqual(["stream/replicate is behind: not now"]);
});

test("waits for a stream that is not there yet; turning it on twice leaves the first", async () => {
  await ensureTable(engine.endpoint, "primary");
  const { source, log, numbers } = collecting();
  await until(() => log.length > 0);
  expect(log).toEqual(["stream/replicate is behind: the table primary has no stream"]);
  const arn = async () =>
    (await client.send(new DescribeTableCommand({ TableName: "primary" }))).Table?.LatestStreamArn;
  await ensureTable(engine.endpoint, "primary", { stream: true });
  const before = await arn();
  await ensureTable(engine.endpoint, "primary", { stream: true });
  expect(await arn()).toBe(before);
  await put({ pk: "p", sk: "s", n: 1 });
  await until(() => numbers().length === 1);
  await source.stop();
});

const lives = (): readonly Life[] => [
  runLife(3, [1, 1], true),
  runLife(2, [1], false),
  settingsLife(3),
  settingsLife(4),
];

/** As the primary writes them, except that what is deleted there stays. */
const write = async (all: readonly Life[]): Promise<void> => {
  for (const life of all) for (const item of [...journalsOf(life), ...life.images]) await put(item);
};

test("two replicas are fed by processes of their own, over their deaths and a restart of the engine", async () => {
  await ensureTable(engine.endpoint, "primary", { stream: true });
  const replicas = ["first", "second"].map((tableName) => ({ tableName, endpoint: undefined }));
  for (const { tableName } of replicas) await ensureTable(engine.endpoint, tableName);
  const feeding = (): Feeds =>
    startFeeds({ replicas, tableName: "primary", dynamodbEndpoint: engine.endpoint, dataDir });
  let feeds = feeding();
  onTestFinished(() => feeds.stop());
  const all: Life[] = [];
  const expectFed = async () => {
    for (const { tableName } of replicas) {
      const replica = new DynamoStore(client, tableName);
      await eventually(
        async () => {
          for (const life of all) expect(await shown(replica, life)).toEqual(expected(life));
        },
        { withinMs: 20_000, everyMs: 100 },
      );
      expect(await countedOn(replica)).toBe(all.reduce((sum, { changes }) => sum + changes, 0));
    }
  };
  const more = async () => {
    const next = lives();
    all.push(...next);
    await write(next);
  };
  await more();
  await expectFed();
  const before = feedPids(dataDir);
  expect(before).toHaveLength(2);
  const writing = more();
  await endProcesses(before);
  await writing;
  await expectFed();
  await until(() => feedPids(dataDir).length === 2);

  await feeds.stop();
  expect(feedPids(dataDir)).toEqual([]);
  await more();
  client.destroy();
  await engine.stop();
  await start();
  feeds = feeding();
  await more();
  await expectFed();
}, 90_000);

test("npm start creates the replicas, feeds them with all that is written, and takes the feeds down with it", async () => {
  const dir = join(dataDir, "service");
  const env = {
    CAIRN_REPLICAS: "copy",
    CAIRN_SCHEDULE_SECONDS: "0",
    DYNAMODB_ENDPOINT: undefined,
    SQS_ENDPOINT: undefined,
  };
  const service = await startService({ dataDir: dir, env });
  onTestFinished(() => service.kill9());
  await until(() => feedPids(dir).length === 1);
  await fetch(`${service.baseUrl}/queues/q`, {
    method: "PUT",
    body: "{}",
    headers: { "content-type": "application/json" },
  });
  const position = join(dir, "replica-copy.json");
  await until(() =>
    readFile(position, "utf8").then(
      (text) => text.includes("after"),
      () => false,
    ),
  );
  await service.kill9();
  expect(feedPids(dir)).toEqual([]);
}, 60_000);
