/** The answers, as schemas: the document shows them, and a test holds the service's own answers to them. */
import * as z from "zod";
import { exchangeTypes } from "../../shared/domain/exchange.ts";
import { PARTITIONS } from "../../shared/domain/limits.ts";
import { refusalCodes } from "../../shared/domain/refusal.ts";

export const time = z.iso.datetime();
/** An integer that may pass 2^53. */
export const counter = z.string().regex(/^\d+$/);
const count = z.int().min(0);
const orNull = (schema: z.ZodType) => z.nullable(schema);

export const health = z.strictObject({ status: z.literal("ok"), version: z.string() });

export const storeStatus = z.strictObject({
  storeId: z.string(),
  clusterId: orNull(z.string()),
  changeCounter: counter,
  configChange: orNull(counter),
  configId: orNull(z.string()),
  changeCounterAtConfigChange: orNull(counter),
  role: z.enum(["primary", "replica"]),
  state: z.enum(["empty", "dirty", "clean"]),
  shutdownId: orNull(z.string()),
  changeCounterAtShutdown: orNull(counter),
  members: z.array(
    z.strictObject({
      storeId: z.string(),
      table: z.string(),
      endpoint: z.string().optional(),
      region: z.string().optional(),
      role: z.enum(["primary", "replica"]),
      state: z.enum(["in-sync", "joining", "away"]),
      told: counter.optional(),
    }),
  ),
  readAt: time,
});

const settingsFields = {
  queue: z.string(),
  messageDurability: z.enum(["default", "always", "never"]),
  strictOrder: z.boolean(),
  leaseSeconds: count,
  maxDeliveries: count,
  deadLetterQueue: orNull(z.string()),
  messageTtlSeconds: orNull(count),
  retentionSeconds: orNull(count),
  maxMessages: orNull(count),
  maxBytes: orNull(count),
  overflow: z.enum(["reject", "ring"]),
  partitions: z.int().min(1).max(PARTITIONS),
};

export const queue = z.strictObject(settingsFields);

export const queueWithStats = z.strictObject({
  ...settingsFields,
  stats: z.strictObject({
    available: counter,
    leased: counter,
    held: counter,
    enqueued: counter,
    settled: counter,
    deadLettered: counter,
    changeCounter: counter,
    oldestAgeSeconds: orNull(count),
  }),
});

export const queuePage = z.strictObject({ queues: z.array(queue), cursor: z.string().optional() });

export const purged = z.strictObject({ purged: count, more: z.boolean() });

export const redriven = z.strictObject({ redriven: count, left: count, more: z.boolean() });

const messageFields = {
  sequence: counter,
  messageId: z.string(),
  body: z.string(),
  bodyEncoding: z.enum(["utf8", "base64"]),
  contentType: z.string().optional(),
  correlationId: z.string().optional(),
  replyTo: z.string().optional(),
  headers: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).optional(),
  deliveryMode: z.enum(["persistent", "transient"]),
  ttlSeconds: count.optional(),
  priority: z.int().min(0).max(9).optional(),
  deduplicationId: z.string().optional(),
  deadLetter: z
    .strictObject({
      queue: z.string(),
      reason: z.enum(["rejected", "max-deliveries", "expired", "queue-deleted"]),
      note: z.string().optional(),
      deliveryCount: count,
      deadLetteredAt: time,
    })
    .optional(),
};

export const message = z.strictObject(messageFields);

export const messagePage = z.strictObject({ messages: z.array(message), cursor: z.string().optional() });

export const enqueued = z.strictObject({
  messages: z.array(
    z.strictObject({
      messageId: z.string(),
      queues: z.array(z.strictObject({ queue: z.string(), sequence: counter.optional() })),
      duplicate: z.boolean(),
    }),
  ),
  completed: z.boolean(),
});

/** The call was stored as a command of its session: `GET /sessions/{session}/completions` tells what it comes to. */
export const command = z.strictObject({ commandId: counter });

/** What need not be stored is complete with its ids alone; with the preference it is a command. */
export const enqueuedOrCommand = z.union([enqueued, command]);

/** `status` and `body` are what the call would have answered without the preference; without a body it is null. */
export const completion = z.strictObject({
  commandId: counter,
  status: z.int().min(200).max(599),
  body: z.nullable(z.looseObject({})),
});

export const completions = z.strictObject({ completions: z.array(completion), completedThrough: counter });

export const synced = z.strictObject({
  completedThrough: counter,
  open: z.array(counter),
  more: z.boolean().optional(),
});

const exchangeFields = {
  exchange: z.string(),
  type: z.enum(exchangeTypes),
  alternateExchange: orNull(z.string()),
};

export const exchange = z.strictObject(exchangeFields);

export const exchangeWithStats = z.strictObject({
  ...exchangeFields,
  stats: z.strictObject({ unroutable: counter }),
});

const bindingFields = {
  queue: z.string(),
  bindingKey: z.string(),
  arguments: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()])),
};

export const binding = z.strictObject({ exchange: z.string(), ...bindingFields });

export const bindingPage = z.strictObject({
  bindings: z.array(z.strictObject(bindingFields)),
  cursor: z.string().optional(),
});

export const delivery = z.strictObject({
  deliveryId: z.string().optional(),
  ...messageFields,
  redelivered: z.boolean(),
  deliveryCount: z.int().min(1),
  leaseExpiresAt: time.optional(),
});

export const deliveries = z.strictObject({ deliveries: z.array(delivery) });

/** What a settling call did with each delivery; `done` is its word for success. */
const settled = (done: string) =>
  z.strictObject({
    outcomes: z.array(
      z.strictObject({
        deliveryId: z.string(),
        status: z.enum([done, "lease-lost", "locked", "not-found"]),
        completed: z.literal(true),
      }),
    ),
    completed: z.literal(true),
  });

export const accepted = settled("accepted");
export const released = settled("released");
export const rejected = settled("rejected");
export const extended = settled("extended");

const enlisted = { queue: z.string(), messageId: z.string() };

/** A prepared branch: what its commit will enqueue and dequeue. */
export const inDoubt = z.strictObject({
  xid: z.string(),
  preparedAt: time,
  enqueues: z.array(z.strictObject(enlisted)),
  dequeues: z.array(z.strictObject({ ...enlisted, sequence: counter })),
  more: z.literal(true).optional(),
});

const recoveryFields = {
  inDoubt: z.array(inDoubt),
  finished: count,
  rolledBack: count,
  unreadable: z.array(z.strictObject({ key: z.string() })),
  more: z.literal(true).optional(),
};

export const recovery = z.strictObject(recoveryFields);

export const recoveryPage = z.strictObject({ ...recoveryFields, cursor: z.string().optional() });

const sessionFields = { session: z.string(), epoch: z.int().min(1), timeoutSeconds: count, expiresAt: time };

/** `resumed` and `recovery` on an attach or resume, not on a keep-alive. */
export const attached = z.strictObject({
  ...sessionFields,
  resumed: z.boolean().optional(),
  recovery: recovery.optional(),
});

export const session = z.strictObject({
  ...sessionFields,
  state: z.enum(["attached", "detached", "expired"]),
  branches: z.array(z.strictObject({ xid: z.string(), state: z.enum(["active", "suspended"]) })),
  incompleteCommands: counter,
});

const stateNames = [
  "active",
  "suspended",
  "idle",
  "rollback-only",
  "timed-out",
  "prepared",
  "deciding",
  "heuristically-committed",
  "heuristically-rolled-back",
] as const;

/** `state` while the branch is still there; `remembered` when the same verb had completed it before. */
export const verb = z.strictObject({
  xa: z.enum(["XA_OK", "XA_RBROLLBACK", "XA_RBTIMEOUT", "XA_HEURCOM", "XA_HEURRB"]),
  state: z.enum(stateNames).optional(),
  remembered: z.literal(true).optional(),
});

export const timeout = z.strictObject({ timeoutSeconds: count });

const xidFields = { xid: z.string(), formatId: count, gtrid: z.string(), bqual: z.string() };

export const preparedPage = z.strictObject({
  branches: z.array(
    z.strictObject({
      ...xidFields,
      state: z.enum(["prepared", "heuristically-committed", "heuristically-rolled-back"]),
      preparedAt: time,
      session: z.string(),
    }),
  ),
  unreadable: z.array(z.strictObject({ key: z.string() })).optional(),
  cursor: z.string().optional(),
});

/** A branch that is there, or for 24 h what became of it. */
export const branch = z.union([
  z.strictObject({
    ...xidFields,
    state: z.enum(stateNames),
    session: z.string(),
    associations: z.array(
      z.strictObject({ session: z.string(), epoch: z.int().min(1), state: z.enum(["active", "suspended"]) }),
    ),
    deadline: orNull(time),
    timeoutSeconds: count,
    messages: count,
    operations: z.array(z.strictObject({ kind: z.enum(["add", "remove"]), queue: z.string(), messages: count })),
    more: z.literal(true).optional(),
    outcome: z.enum(["commit", "rollback"]).optional(),
    reason: z.string().optional(),
    preparedAt: time.optional(),
    decidedAt: time.optional(),
    completedAt: time.optional(),
  }),
  z.strictObject({
    ...xidFields,
    state: z.enum(["committed", "rolled-back"]),
    reason: z.string(),
    completedAt: time,
    dropped: z.int().min(1).optional(),
  }),
]);

export const problem = z.strictObject({
  type: z.string(),
  title: z.string(),
  status: z.int(),
  code: z.enum(refusalCodes),
  amqp: z.int().optional(),
  xa: z.string().optional(),
  retryable: z.boolean(),
  detail: z.string(),
  errors: z.array(z.strictObject({ path: z.string(), message: z.string() })).optional(),
});
