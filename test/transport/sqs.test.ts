import type { SQSClient } from "@aws-sdk/client-sqs";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { awsEnvironment } from "../../local/credentials.ts";
import { startQueueEngine } from "../../local/queue-engine.ts";
import type { Engine } from "../../local/table-engine.ts";
import { BATCHED_BYTES, QUEUED_BYTES } from "../../shared/domain/limits.ts";
import { commandQueueClient } from "../../shared/transport/client.ts";
import { SqsCommandQueue } from "../../shared/transport/sqs.ts";
import { unique } from "../support/names.ts";
import { QueuesUnderTest } from "../support/queues.ts";

interface Batch {
  readonly Entries: readonly { readonly Id: string; readonly MessageBody: string; readonly MessageGroupId: string }[];
}

/** Stands between each attempt of a call and the queue; `bodies` are those of its batch. */
type Around = (bodies: readonly string[], send: () => Promise<object>) => Promise<object>;

let engine: Engine | undefined;
let queues: QueuesUnderTest;
let client: SQSClient;
let around: Around | undefined;
let table = "";
let queue: SqsCommandQueue;
const batches: string[][] = [];

beforeAll(async () => {
  for (const [name, value] of Object.entries(awsEnvironment({}, [])))
    if (value !== undefined) process.env[name] = value;
  engine = await startQueueEngine();
  queues = new QueuesUnderTest(engine.endpoint);
  client = commandQueueClient(engine.endpoint);
  client.middlewareStack.add(
    (next) => async (args) => {
      const bodies = (args.input as Batch).Entries.map(({ MessageBody }) => JSON.parse(MessageBody) as string);
      batches.push(bodies);
      const send = () => next(args);
      return around === undefined ? send() : ((await around(bodies, send)) as Awaited<ReturnType<typeof send>>);
    },
    { step: "finalizeRequest", priority: "low", name: "around" },
  );
});
beforeEach(async () => {
  table = unique("table");
  queue = new SqsCommandQueue(client, (await queues.of(table)).commands.url);
  batches.length = 0;
});
afterEach(() => {
  around = undefined;
});
afterAll(async () => {
  client.destroy();
  queues.destroy();
  await engine?.stop();
});

/** A message for each body `group…`, the group being its first letter. */
const messages = (...bodies: readonly string[]) =>
  bodies.map((body) => ({ group: body.charAt(0), id: `id of ${body}`, body: JSON.stringify(body) }));

/** What the queue holds, group by group. */
const held = async (): Promise<readonly string[]> => {
  const all = (await queues.drain(table)).map(({ body }) => JSON.parse(body) as string);
  return all.toSorted((a, b) => (a.charAt(0) < b.charAt(0) ? -1 : a.charAt(0) > b.charAt(0) ? 1 : 0));
};

const failed = (bodies: readonly string[], of: (body: string) => boolean, entry: object) => ({
  Successful: [],
  Failed: bodies.flatMap((body, at) => (of(body) ? [{ Id: String(at), ...entry }] : [])),
  $metadata: {},
});

describe("a send to the command queue", () => {
  test("puts each message there, those of a group in the order given", async () => {
    const bodies = Array.from({ length: 40 }, (_, at) => `${"abc".charAt(at % 3)}${at}`);
    await queue.send(messages(...bodies));

    expect(await held()).toEqual(["a", "b", "c"].flatMap((group) => bodies.filter((body) => body.startsWith(group))));
  });

  test("of nothing sends nothing", async () => {
    await queue.send([]);

    expect(batches).toEqual([]);
  });

  test("has at most one message of a group and ten in all in a batch", async () => {
    const letters = [..."abcdefghijklmno"];
    await queue.send(messages(...letters, "a2", "b2"));

    expect(batches).toEqual([letters.slice(0, 10), [...letters.slice(10), "a2", "b2"]]);
  });

  test("stays within the bytes of a batch, and sends the largest body there may be", async () => {
    const large = (group: string) => group + "x".repeat(QUEUED_BYTES - 3);
    await queue.send(messages(large("a"), large("b"), "c"));

    expect(batches.map((batch) => batch.map((body) => body.length))).toEqual([
      [QUEUED_BYTES - 2],
      [QUEUED_BYTES - 2, 1],
    ]);
    for (const batch of batches) expect(JSON.stringify(batch.join("")).length).toBeLessThanOrEqual(BATCHED_BYTES);
    expect((await held()).map((body) => body.length)).toEqual([QUEUED_BYTES - 2, QUEUED_BYTES - 2, 1]);
  });

  test("takes any text: characters that no queue takes, and groups and ids of any length", async () => {
    const text = "a \u{1f600} \ufffe \uffff \u0000 \u007f ä \ud800";
    const long = "ü".repeat(500);
    await queue.send([
      { group: long, id: `${long}1`, body: JSON.stringify(text) },
      { group: long, id: `${long}2`, body: JSON.stringify("b") },
    ]);
    const drained = await queues.drain(table);

    expect(drained.map(({ body }) => JSON.parse(body))).toEqual([text, "b"]);
    expect(drained[0]?.group).toMatch(/^[\w-]{43}$/);
    expect(new Set(drained.map(({ id }) => id)).size).toBe(2);
  });

  test("sends what failed in a batch again, before what follows it in its group", async () => {
    let times = 0;
    around = async (bodies, send) => {
      if (!bodies.includes("b1") || ++times > 2) return send();
      return { output: failed(bodies, () => true, { SenderFault: false, Code: "InternalError" }), response: {} };
    };
    await queue.send(messages("a1", "b1", "b2"));

    expect(batches.at(-1)).toEqual(["b2"]);
    expect(await held()).toEqual(["a1", "b1", "b2"]);
  });

  test("is throttled, and goes on", async () => {
    let times = 0;
    around = async (bodies, send) => {
      if (++times > 1) return send();
      return {
        output: failed(bodies, () => true, { SenderFault: true, Code: "ThrottlingException" }),
        response: {},
      };
    };
    await queue.send(messages("a1"));

    expect(await held()).toEqual(["a1"]);
  });

  test("is a defect when the queue refuses a message for what it is", async () => {
    around = async (bodies) => ({
      output: failed(bodies, () => true, { SenderFault: true, Code: "InvalidMessageContents" }),
      response: {},
    });

    await expect(queue.send(messages("a1"))).rejects.toThrow(/refused a message: InvalidMessageContents/);
  });

  test("is once in the queue when its answer was lost", async () => {
    let times = 0;
    around = async (_bodies, send) => {
      const answer = await send();
      if (++times === 1) throw Object.assign(new Error("socket hang up"), { name: "TimeoutError", code: "ECONNRESET" });
      return answer;
    };
    await queue.send(messages("a1", "a2"));

    expect(times).toBe(3);
    expect(await held()).toEqual(["a1", "a2"]);
  });

  test("is Unavailable when the queue is out of reach, or its refusals outlast the patience", async () => {
    around = async () => {
      throw Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
    };
    await expect(queue.send(messages("a1"))).rejects.toMatchObject({ name: "Unavailable" });
    around = async (bodies) => ({ output: failed(bodies, () => true, { Code: "InternalError" }), response: {} });
    await expect(queue.send(messages("a1"))).rejects.toMatchObject({ name: "Unavailable" });
  });

  test("is waited for before a handler answers, though nobody else waits for it", async () => {
    let release = () => {};
    const holding = new Promise<void>((resolve) => {
      release = resolve;
    });
    around = async (_bodies, send) => {
      await holding;
      return send();
    };
    const sent = queue.send(messages("a1"));
    let isSettled = false;
    const settled = queue.settled().then(() => {
      isSettled = true;
    });
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(isSettled).toBe(false);
    release();
    await Promise.all([sent, settled]);
    expect(await held()).toEqual(["a1"]);
  });
});
