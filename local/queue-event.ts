import type { Message } from "@aws-sdk/client-sqs";

/** The event that Lambda makes of received messages. */
export function queueEvent(queueArn: string, messages: readonly Message[]): object {
  return {
    Records: messages.map((message) => ({
      messageId: message.MessageId,
      receiptHandle: message.ReceiptHandle,
      body: message.Body,
      attributes: message.Attributes ?? {},
      messageAttributes: {},
      md5OfBody: message.MD5OfBody,
      eventSource: "aws:sqs",
      eventSourceARN: queueArn,
      awsRegion: queueArn.split(":")[3] ?? "",
    })),
  };
}

/** Which of the messages a function left undone, by Lambda's rules: all of them when its answer cannot be read. */
export function undoneOf(messages: readonly Message[], result: unknown): readonly Message[] {
  if (result === undefined || result === null) return [];
  const { batchItemFailures = [] } = result as { batchItemFailures?: unknown };
  if (batchItemFailures === null) return [];
  if (!Array.isArray(batchItemFailures)) return messages;
  const undone = new Set(batchItemFailures.map((failure) => (failure as { itemIdentifier?: unknown })?.itemIdentifier));
  const known = new Set<unknown>(messages.map(({ MessageId }) => MessageId));
  if ([...undone].some((id) => !known.has(id))) return messages;
  return messages.filter(({ MessageId }) => undone.has(MessageId));
}
