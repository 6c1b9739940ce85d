import type { QueueSettings } from "./shapes.ts";

/** What the contract says of a queue when nothing is said. */
export const contractDefaults = {
  messageDurability: "default",
  strictOrder: false,
  leaseSeconds: 30,
  maxDeliveries: 0,
  deadLetterQueue: null,
  messageTtlSeconds: null,
  retentionSeconds: null,
  maxMessages: null,
  maxBytes: null,
  overflow: "reject",
  partitions: 1,
} as const satisfies Required<QueueSettings>;
