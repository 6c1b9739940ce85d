import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SendMessageBatchCommand, SQSClient } from "@aws-sdk/client-sqs";
import type { SQSEvent, SQSRecord } from "aws-lambda";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { consumers } from "../../cdk/routes.ts";
import { awsEnvironment } from "../../local/credentials.ts";
import { type EventSources, startEventSources } from "../../local/event-source.ts";
import type { Context } from "../../local/handlers.ts";
import { undoneOf } from "../../local/queue-event.ts";
import { ensureQueues, type LocalQueues } from "../../local/queues.ts";
import { type SharedEngines, startEngines } from "../../local/service.ts";
import { StartFailure } from "../../local/start-failure.ts";

let dataDir = "";
let engines: SharedEngines | undefined;
let client: SQSClient | undefined;
let sources: EventSources | undefined;
let queues: LocalQueues;
let tables = 0;

const start = async (): Promise<void> => {
  engines = await startEngines({ dataDir });
  client = new SQSClient({ endpoint: engines.sqsEndpoint });
};
beforeAll(async () => {
  for (const [name, value] of Object.entries(awsEnvironment({}, [])))
    if (value !== undefined) process.env[name] = value;
  dataDir = await mkdtemp(join(tmpdir(), "cairn-events-"));
  await start();
});
afterEach(async () => {
  await sources?.stop();
  sources = undefined;
});
afterAll(async () => {
  client?.destroy();
  await engines?.stop();
  await rm(dataDir, { recursive: true, force: true });
});

const endpoint = (): string => engines?.sqsEndpoint ?? "";

/** Queues without messages. */
const freshQueues = async (): Promise<void> => {
  tables += 1;
  queues = await ensureQueues(endpoint(), `events-${tables}`);
};

/** Sends bodies, each as `group:text`. */
const send = async (...bodies: string[]): Promise<void> => {
  const Entries = bodies.map((body, at) => ({
    Id: String(at),
    MessageBody: body,
    MessageGroupId: body.split(":")[0],
    MessageDeduplicationId: `${tables}-${body}`,
  }));
  const answer = await client?.send(new SendMessageBatchCommand({ QueueUrl: queues.commands.url, Entries }));
  expect(answer?.Successful).toHaveLength(bodies.length);
};

/** Starts the event sources; `consume` sees each record of the command queue and says which are undone. */
const consumeWith = async (
  consume: (records: readonly SQSRecord[], context: Context) => unknown,
  log: (line: string) => void = () => {},
): Promise<void> => {
  sources = await startEventSources({
    consumers,
    endpoint: endpoint(),
    queues,
    log,
    loadHandler: async (lambda) => (event, context) =>
      lambda === "worker/commands" ? consume((event as SQSEvent).Records, context) : undefined,
  });
};

const undone = (records: readonly SQSRecord[]) => ({
  batchItemFailures: records.map(({ messageId }) => ({ itemIdentifier: messageId })),
});

describe("an event source", () => {
  test("hands on what the queue holds in an event like Lambda's, once, in the order of each group", async () => {
    await freshQueues();
    const seen: SQSRecord[] = [];
    let context: Context | undefined;
    await consumeWith((records, given) => {
      seen.push(...records);
      context = given;
    });
    await send("a:1", "a:2", "b:1", "a:3", "b:2");
    await expect.poll(() => seen.length).toBe(5);
    const bodiesOf = (group: string) =>
      seen.filter(({ attributes }) => attributes.MessageGroupId === group).map(({ body }) => body);
    expect(bodiesOf("a")).toEqual(["a:1", "a:2", "a:3"]);
    expect(bodiesOf("b")).toEqual(["b:1", "b:2"]);
    expect(seen[0]).toMatchObject({
      messageId: expect.any(String),
      receiptHandle: expect.any(String),
      attributes: {
        ApproximateReceiveCount: "1",
        MessageGroupId: expect.any(String),
        MessageDeduplicationId: expect.any(String),
        SequenceNumber: expect.any(String),
        SentTimestamp: expect.stringMatching(/^\d+$/),
      },
      eventSource: "aws:sqs",
      eventSourceARN: queues.commands.arn,
      awsRegion: process.env.AWS_REGION,
    });
    expect(context?.functionName).toBe("cairn-worker-commands");
    expect(context?.getRemainingTimeInMillis()).toBeLessThanOrEqual(30_000);
  });

  test("deletes what was done, and holds back what follows an undone message in its group", async () => {
    await freshQueues();
    const seen: string[] = [];
    await send("a:1", "a:2", "b:1", "b:2");
    await consumeWith((records) => {
      seen.push(...records.map(({ body }) => body));
      return undone(records.filter(({ body }) => body === "a:1"));
    });
    await expect.poll(() => seen.length).toBe(3);
    await send("c:1");
    await expect.poll(() => seen.length).toBe(4);
    expect(seen.toSorted()).toEqual(["a:1", "b:1", "b:2", "c:1"]);
  });

  test("counts a failed batch as undone, says why in one line and goes on", async () => {
    await freshQueues();
    const lines: string[] = [];
    const seen: string[] = [];
    const consume = (records: readonly SQSRecord[]) => {
      seen.push(...records.map(({ body }) => body));
      if (seen.length === 1) throw new Error("first\nsecond");
    };
    await consumeWith(consume, (line) => lines.push(line));
    await send("a:1");
    await expect.poll(() => lines.length).toBe(1);
    await send("a:2", "b:1");
    await expect.poll(() => seen).toEqual(["a:1", "b:1"]);
    expect(lines).toEqual([expect.stringMatching(/^worker\/commands failed, run \S+: first second$/)]);
  });

  test("is not held up by a group that is slow", async () => {
    await freshQueues();
    const seen: string[] = [];
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    await consumeWith(async (records) => {
      if (records.some(({ body }) => body.startsWith("slow"))) await held;
      seen.push(...records.map(({ body }) => body));
    });
    await send("slow:1", "slow:2");
    await new Promise((resolve) => setTimeout(resolve, 50));
    await send("fast:1", "fast:2");
    await expect.poll(() => seen).toEqual(["fast:1", "fast:2"]);
    release();
    await expect.poll(() => seen.slice(2)).toEqual(["slow:1", "slow:2"]);
  });

  test("stops when what runs is done, and leaves the rest in the queue", async () => {
    await freshQueues();
    const seen: string[] = [];
    await consumeWith(async (records) => {
      await new Promise((resolve) => setTimeout(resolve, 200));
      seen.push(...records.map(({ body }) => body));
    });
    await send("a:1", "a:2");
    await new Promise((resolve) => setTimeout(resolve, 100));
    await sources?.stop();
    expect(seen).toEqual(["a:1"]);
    await consumeWith((records) => {
      seen.push(...records.map(({ body }) => body));
    });
    await expect.poll(() => seen, { timeout: 5_000 }).toEqual(["a:1", "a:2"]);
  });

  test("gets every acknowledged message after kill -9 of the engine, in order", async () => {
    await freshQueues();
    const numbers = Array.from({ length: 50 }, (_, at) => at);
    for (let from = 0; from < 50; from += 10) {
      await send(...numbers.slice(from, from + 10).map((at) => `${at % 3}:${at}`));
    }
    await engines?.kill9();
    client?.destroy();
    await start();
    queues = await ensureQueues(endpoint(), `events-${tables}`);
    const seen: string[] = [];
    await consumeWith((records) => {
      seen.push(...records.map(({ body }) => body));
    });
    await expect.poll(() => seen.length, { timeout: 10_000 }).toBe(50);
    for (const group of ["0", "1", "2"]) {
      const bodies = seen.filter((body) => body.startsWith(`${group}:`));
      expect(bodies).toEqual(numbers.filter((at) => String(at % 3) === group).map((at) => `${group}:${at}`));
    }
  }, 30_000);
});

describe("what a function leaves undone", () => {
  const messages = [{ MessageId: "1" }, { MessageId: "2" }];
  const failures = (...ids: unknown[]) => ({ batchItemFailures: ids.map((itemIdentifier) => ({ itemIdentifier })) });

  test.each([
    ["nothing without an answer", undefined, []],
    ["nothing by an empty answer", {}, []],
    ["nothing by an empty list", failures(), []],
    ["what it names", failures("2"), ["2"]],
    ["all, if it names what it was not given", failures("2", "3"), ["1", "2"]],
    ["all, if it names nothing where a name should be", failures(undefined), ["1", "2"]],
    ["all, if its answer is no list", { batchItemFailures: "2" }, ["1", "2"]],
  ] as const)("is %s", (_case, result, expected) => {
    expect(undoneOf(messages, result).map(({ MessageId }) => MessageId)).toEqual(expected);
  });
});

describe("the queues", () => {
  test("are found again, each table having its own", async () => {
    const [first, again] = [await ensureQueues(endpoint(), "one"), await ensureQueues(endpoint(), "one")];
    const other = await ensureQueues(endpoint(), "o.ne");

    expect(again).toEqual(first);
    expect(new Set([first, other].flatMap((each) => [each.commands.url, each["failed-commands"].url])).size).toBe(4);
    expect(other.commands.url).toMatch(/\/o_ne-[0-9a-f]{8}-commands\.fifo$/);
  });

  test("out of reach are a failed start", async () => {
    await expect(ensureQueues("http://127.0.0.1:1", "one")).rejects.toThrow(StartFailure);
  });
});
