/** Bodies of enqueue and acquire, and what they become. */
import * as z from "zod";
import { type Delivered, deliveryId } from "../../domain/delivery.ts";
import {
  HEADERS_BYTES,
  LEASE_SECONDS_MAX,
  LIFETIME_SECONDS_MAX,
  MESSAGE_BYTES,
  MESSAGES_PER_CALL,
  TEXT_LENGTH,
  WAIT_SECONDS_MAX,
} from "../../domain/limits.ts";
import type { HeaderValue, Message, Properties } from "../../domain/message.ts";
import { wireSequence } from "../../domain/queue.ts";
import { type Refusal, refuse, refuseFields } from "../../domain/refusal.ts";
import { messageIdOf } from "../../domain/run.ts";
import { messageForm } from "../message-form.ts";
import { integer } from "./queues.ts";
import { HALF_A_PAIR, unicode } from "./text.ts";

const text = unicode(
  z
    .string({ error: "must be a string" })
    .min(1, { error: `must have 1 to ${TEXT_LENGTH} characters` })
    .max(TEXT_LENGTH, { error: `must have 1 to ${TEXT_LENGTH} characters` }),
);

const headerValue = z.union([unicode(z.string()), z.number(), z.boolean()], {
  error: "must be a string, a number, true or false",
});

/** Not a record of the validator's: that leaves out a header named `__proto__`. */
const headers = z
  .custom<Readonly<Record<string, HeaderValue>>>(
    (value) => typeof value === "object" && value !== null && !Array.isArray(value),
    { error: "must be an object of strings, numbers, true and false" },
  )
  .superRefine((value, context) => {
    for (const [name, one] of Object.entries(value)) {
      const error = name.isWellFormed() ? headerValue.safeParse(one).error?.issues[0]?.message : HALF_A_PAIR;
      if (error !== undefined) context.addIssue({ code: "custom", path: [name], message: error });
    }
  })
  .refine((value) => Buffer.byteLength(JSON.stringify(value)) <= HEADERS_BYTES, {
    error: `must have at most ${HEADERS_BYTES} bytes as JSON`,
  });

const messageBody = z.strictObject(
  {
    body: unicode(z.string({ error: "must be a string" })),
    bodyEncoding: z.enum(["utf8", "base64"], { error: 'must be "utf8" or "base64"' }).default("utf8"),
    contentType: text.optional(),
    messageId: text.optional(),
    correlationId: text.optional(),
    replyTo: text.optional(),
    headers: headers.optional(),
    deliveryMode: z
      .enum(["persistent", "transient"], { error: 'must be "persistent" or "transient"' })
      .default("persistent"),
    ttlSeconds: integer(1, LIFETIME_SECONDS_MAX).optional(),
    priority: integer(0, 9).optional(),
    deduplicationId: text.optional(),
  },
  { error: "must be an object" },
);

const many = `must have 1 to ${MESSAGES_PER_CALL} messages`;

export const enqueueBody = z.strictObject({
  messages: z.array(messageBody, { error: many }).min(1, { error: many }).max(MESSAGES_PER_CALL, { error: many }),
});

type MessageBody = z.infer<typeof messageBody>;

/** The messages as values; a body that is not what its encoding says, or too large, is refused. */
export const messagesOf = (bodies: readonly MessageBody[]): readonly Message[] | Refusal => {
  const messages: Message[] = [];
  for (const [i, one] of bodies.entries()) {
    const body = Buffer.from(one.body, one.bodyEncoding);
    if (one.bodyEncoding === "base64" && body.toString("base64") !== one.body) {
      return refuseFields({ path: `messages[${i}].body`, message: "must be base64 with padding" });
    }
    if (body.length > MESSAGE_BYTES)
      return refuse("payload-too-large", `messages[${i}].body has more than ${MESSAGE_BYTES} bytes, decoded`);
    messages.push({ body, properties: propertiesOf(one) });
  }
  return messages;
};

const propertiesOf = ({ body: _, ...one }: MessageBody): Properties =>
  // What was not given is absent, not undefined.
  Object.fromEntries(Object.entries(one).filter(([, value]) => value !== undefined)) as unknown as Properties;

export const acquireBody = z.strictObject({
  maxMessages: integer(1, MESSAGES_PER_CALL).default(1),
  waitSeconds: integer(0, WAIT_SECONDS_MAX).default(0),
  leaseSeconds: integer(1, LEASE_SECONDS_MAX).optional(),
  settle: z.enum(["explicit", "none"], { error: 'must be "explicit" or "none"' }).default("explicit"),
});

/** A delivery as it is answered; one that was removed on delivery has no id and no lease. */
export const deliveryForm = ({ run, index, partitions, message, messageIdBase, deliveries, lease }: Delivered) => ({
  ...(lease !== undefined && { deliveryId: deliveryId({ run, index, token: lease.token }) }),
  sequence: wireSequence(run.position + index, run.partition, partitions),
  ...messageForm(message, message.properties.messageId ?? messageIdOf(messageIdBase, index)),
  redelivered: deliveries > 1,
  deliveryCount: deliveries,
  ...(lease !== undefined && { leaseExpiresAt: new Date(lease.expiresAtMs).toISOString() }),
});
