/** Bodies and query parameters of the queue routes. */
import * as z from "zod";
import {
  CAPACITY_MAX,
  DELIVERIES_MAX,
  LEASE_SECONDS_MAX,
  LIFETIME_SECONDS_MAX,
  PARTITIONS,
} from "../../domain/limits.ts";
import { isName, NAME_SHAPE } from "../../domain/name.ts";
import { defaultSettings, type QueueSettings } from "../../domain/queue.ts";

/** An integer within bounds, with a message that names them. */
export const integer = (min: number, max: number) => {
  const error = `must be an integer from ${min} to ${max}`;
  return z.int({ error }).min(min, { error }).max(max, { error });
};

/** The same, as text in a query string. */
export const integerText = (min: number, max: number) => {
  const error = `must be an integer from ${min} to ${max}`;
  return z
    .string()
    .regex(/^\d{1,15}$/, { error })
    .transform(Number)
    .pipe(z.number().min(min, { error }).max(max, { error }));
};

export const booleanText = z
  .enum(["true", "false"], { error: "must be true or false" })
  .transform((text) => text === "true");

export const nameText = z.string({ error: "must be a string" }).refine(isName, { error: NAME_SHAPE });

const orNull = <T>(schema: z.ZodType<T>) => z.nullable(schema).default(null);

export const settingsBody = z.strictObject({
  messageDurability: z
    .enum(["default", "always", "never"], { error: 'must be "default", "always" or "never"' })
    .default(defaultSettings.messageDurability),
  strictOrder: z.boolean({ error: "must be true or false" }).default(defaultSettings.strictOrder),
  leaseSeconds: integer(1, LEASE_SECONDS_MAX).default(defaultSettings.leaseSeconds),
  maxDeliveries: integer(0, DELIVERIES_MAX).default(defaultSettings.maxDeliveries),
  deadLetterQueue: orNull(nameText),
  messageTtlSeconds: orNull(integer(1, LIFETIME_SECONDS_MAX)),
  retentionSeconds: orNull(integer(1, LIFETIME_SECONDS_MAX)),
  maxMessages: orNull(integer(1, CAPACITY_MAX)),
  maxBytes: orNull(integer(1, CAPACITY_MAX)),
  overflow: z.enum(["reject", "ring"], { error: 'must be "reject" or "ring"' }).default(defaultSettings.overflow),
  partitions: integer(1, PARTITIONS).default(defaultSettings.partitions),
}) satisfies z.ZodType<QueueSettings>;

/** Where dead letters go; left out, each goes back to the queue that it came from. */
export const redriveBody = z.strictObject({ to: nameText.optional() });
