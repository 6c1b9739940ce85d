/** The one middy stack for what a queue hands to a function: groups side by side, each in order, with partial failures. */
import middy from "@middy/core";
import type { SQSBatchResponse, SQSEvent, SQSRecord } from "aws-lambda";
import type { CallContext } from "./route.ts";

/** A message as a consumer sees it. */
export interface ReceivedMessage {
  /** The queue's own name for it: the same one at each delivery, another one for what was sent twice. */
  readonly id: string;
  /** What was sent, parsed; nothing is checked but that it is JSON. */
  readonly body: unknown;
  /** Deliveries so far, this one included. */
  readonly receiveCount: number;
}

/**
 * `consume` gets the messages of one group in order and says how many of them, from the first on, are done; the queue
 * delivers the others again. What it throws leaves its whole group undone, and no other. A body that is no JSON can
 * never be handled: it is logged and done. No write or send is open when the function returns.
 */
export const queued = <C extends CallContext>(
  open: (remainingMs: number) => C,
  consume: (context: C, messages: readonly ReceivedMessage[]) => Promise<number>,
) =>
  middy<SQSEvent, SQSBatchResponse>().handler(async (event, lambdaContext) => {
    const context = open(lambdaContext.getRemainingTimeInMillis());
    try {
      const undone = await Promise.all(groupsOf(event.Records).map((group) => undoneOf(group, context, consume)));
      return { batchItemFailures: undone.flat().map(({ id }) => ({ itemIdentifier: id })) };
    } finally {
      await context.settled();
    }
  });

const groupsOf = (records: readonly SQSRecord[]): readonly (readonly SQSRecord[])[] => [
  ...Map.groupBy(records, (record) => record.attributes.MessageGroupId).values(),
];

const undoneOf = async <C>(
  records: readonly SQSRecord[],
  context: C,
  consume: (context: C, messages: readonly ReceivedMessage[]) => Promise<number>,
): Promise<readonly ReceivedMessage[]> => {
  const messages = records.flatMap(readable);
  if (messages.length === 0) return [];
  try {
    const done = await consume(context, messages);
    if (!(done >= 0 && done <= messages.length))
      throw new Error(`${done} of ${messages.length} messages cannot be done`);
    return messages.slice(done);
  } catch (error) {
    console.error(error);
    return messages;
  }
};

const readable = (record: SQSRecord): readonly ReceivedMessage[] => {
  try {
    const receiveCount = Number(record.attributes.ApproximateReceiveCount);
    return [{ id: record.messageId, body: JSON.parse(record.body), receiveCount }];
  } catch {
    console.error(`message ${record.messageId} is no JSON: it is dropped`);
    return [];
  }
};
