import type { Context, SQSBatchResponse, SQSRecord } from "aws-lambda";
import { afterEach, describe, expect, test, vi } from "vitest";
import { queued, type ReceivedMessage } from "../../shared/edge/queued.ts";

afterEach(() => {
  vi.restoreAllMocks();
});

/** A record whose body is `group:text` as JSON, or the raw text given. */
const record = (name: string, more: { readonly body?: string; readonly receiveCount?: number } = {}): SQSRecord => ({
  messageId: `id of ${name}`,
  receiptHandle: `handle of ${name}`,
  body: more.body ?? JSON.stringify(name),
  attributes: {
    ApproximateReceiveCount: String(more.receiveCount ?? 1),
    SentTimestamp: "0",
    SenderId: "sender",
    ApproximateFirstReceiveTimestamp: "0",
    MessageGroupId: name.split(":")[0] ?? "",
    MessageDeduplicationId: name,
  },
  messageAttributes: {},
  md5OfBody: "",
  eventSource: "aws:sqs",
  eventSourceARN: "arn:aws:sqs:us-east-1:000000000000:commands.fifo",
  awsRegion: "us-east-1",
});

type Consume = (messages: readonly ReceivedMessage[]) => Promise<number> | number;

/** What a function that consumes so answers to a batch: the names of the messages that it leaves undone. */
const undoneBy = async (consume: Consume, records: readonly SQSRecord[]): Promise<readonly string[]> => {
  let isSettled = false;
  const open = () => ({
    receipt: { wru: 0, rru: 0 },
    settled: async () => {
      isSettled = true;
    },
  });
  const handler = queued(open, async (_context, messages) => consume(messages));
  const context = { getRemainingTimeInMillis: () => 30_000 } as Context;
  const answer: SQSBatchResponse = await handler({ Records: [...records] }, context);
  expect(isSettled).toBe(true);
  return answer.batchItemFailures.map(({ itemIdentifier }) => itemIdentifier.replace("id of ", ""));
};

const bodiesOf = (messages: readonly ReceivedMessage[]) => messages.map(({ body }) => body);

describe("a function that consumes a queue", () => {
  test("gets each group of a batch by itself, its messages in order", async () => {
    const groups: unknown[][] = [];
    const consume: Consume = (messages) => groups.push(bodiesOf(messages)) && messages.length;

    expect(
      await undoneBy(
        consume,
        ["a:1", "b:1", "a:2", "a:3", "b:2"].map((name) => record(name)),
      ),
    ).toEqual([]);
    expect(groups).toEqual([
      ["a:1", "a:2", "a:3"],
      ["b:1", "b:2"],
    ]);
  });

  test("sees a message by its name, its body and how often it came", async () => {
    const seen: ReceivedMessage[] = [];
    const consume: Consume = (messages) => seen.push(...messages);
    await undoneBy(consume, [record("a:1", { body: '{"is":["json"]}', receiveCount: 3 })]);

    expect(seen).toEqual([{ id: "id of a:1", body: { is: ["json"] }, receiveCount: 3 }]);
  });

  test("leaves undone what stands behind those that it says are done, in each group on its own", async () => {
    const consume: Consume = (messages) => (String(messages[0]?.body).startsWith("a") ? 1 : 0);

    expect(
      await undoneBy(
        consume,
        ["a:1", "b:1", "a:2", "a:3"].map((name) => record(name)),
      ),
    ).toEqual(["a:2", "a:3", "b:1"]);
  });

  test("fails for one group alone, and tells the log why", async () => {
    const logged = vi.spyOn(console, "error").mockImplementation(() => {});
    const failure = new Error("a defect");
    const consume: Consume = (messages) => {
      if (String(messages[0]?.body).startsWith("a")) throw failure;
      return messages.length;
    };

    expect(
      await undoneBy(
        consume,
        ["a:1", "b:1", "a:2"].map((name) => record(name)),
      ),
    ).toEqual(["a:1", "a:2"]);
    expect(logged.mock.calls).toEqual([[failure]]);
  });

  test("works on groups side by side", async () => {
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const consume: Consume = async (messages) => {
      if (messages[0]?.body === "a:1") await held;
      else release();
      return messages.length;
    };

    expect(await undoneBy(consume, [record("a:1"), record("b:1")])).toEqual([]);
  });

  test("drops a body that is no JSON, with a line in the log, wherever it stands", async () => {
    const logged = vi.spyOn(console, "error").mockImplementation(() => {});
    const seen: unknown[] = [];
    const consume: Consume = (messages) => seen.push(...bodiesOf(messages)) && 1;
    const records = [record("a:1", { body: "{" }), record("a:2"), record("a:3", { body: "" }), record("a:4")];

    expect(await undoneBy(consume, records)).toEqual(["a:4"]);
    expect(seen).toEqual(["a:2", "a:4"]);
    expect(logged.mock.calls.map(([line]) => line)).toEqual([
      "message id of a:1 is no JSON: it is dropped",
      "message id of a:3 is no JSON: it is dropped",
    ]);
  });

  test.each([-1, 3, Number.NaN])("that says %s of 2 are done has done none", async (done) => {
    vi.spyOn(console, "error").mockImplementation(() => {});

    expect(await undoneBy(() => done, [record("a:1"), record("a:2")])).toEqual(["a:1", "a:2"]);
  });
});
