import type { DeadLetter, Message } from "../domain/message.ts";

/** A message as answers show it: the fields it was enqueued with, its body in the encoding it came in. */
export const messageForm = ({ properties, body }: Message, messageId: string) => {
  const { bodyEncoding, deadLetter, messageId: _given, ...given } = properties;
  return {
    messageId,
    body: Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString(bodyEncoding),
    bodyEncoding,
    ...given,
    ...(deadLetter !== undefined && { deadLetter: deadLetterForm(deadLetter) }),
  };
};

const deadLetterForm = ({ queue, reason, note, deliveryCount, deadLetteredAtMs }: DeadLetter) => ({
  queue,
  reason,
  ...(note !== undefined && { note }),
  deliveryCount,
  deadLetteredAt: new Date(deadLetteredAtMs).toISOString(),
});
