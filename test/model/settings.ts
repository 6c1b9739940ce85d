/** Settings of the queues of a run: each shows one rule, and those that two rules would leave open are not among them. */
import fc from "fast-check";
import { contractDefaults } from "../support/settings.ts";
import type { QueueSettings } from "../support/shapes.ts";

export type Settings = Required<QueueSettings>;

export const defaults = contractDefaults;

/** What a declare may say of an ordinary queue; `isDead`: its dead letters are kept. */
const ordinary: readonly (QueueSettings & { readonly isDead?: true })[] = [
  {},
  { isDead: true },
  { leaseSeconds: 5 },
  { partitions: 2 },
  { partitions: 2, maxMessages: 3 },
  { maxDeliveries: 1, isDead: true },
  { maxDeliveries: 2, isDead: true },
  { maxDeliveries: 2 },
  { messageDurability: "always" },
  { messageDurability: "never" },
  { messageDurability: "never", maxMessages: 3, isDead: true },
  { messageDurability: "never", partitions: 2 },
  { messageDurability: "never", strictOrder: true },
  { strictOrder: true },
  { strictOrder: true, maxMessages: 3, isDead: true },
  { strictOrder: true, partitions: 2, maxDeliveries: 2, isDead: true },
  { messageTtlSeconds: 10 },
  { messageTtlSeconds: 10, isDead: true },
  { retentionSeconds: 20 },
  { retentionSeconds: 20, isDead: true },
  { maxMessages: 3 },
  { maxMessages: 3, isDead: true },
  { maxMessages: 2, messageTtlSeconds: 10, isDead: true },
  { maxMessages: 2, maxDeliveries: 1 },
  { maxBytes: 12 },
  { maxMessages: 3, overflow: "ring" },
  { maxBytes: 12, overflow: "ring" },
  // A ring's messages end in the order in which they would be dropped.
  { maxMessages: 2, messageTtlSeconds: 10, overflow: "ring", isDead: true },
];

/** A dead-letter queue has no time of its own: when a letter comes is not told. */
const dead: readonly QueueSettings[] = [{}, {}, { maxMessages: 2 }, { maxDeliveries: 2 }, { leaseSeconds: 5 }];

export const choices: fc.Arbitrary<number> = fc.nat(ordinary.length * dead.length - 1);

export const settingsOf = (choice: number, queue: string): Settings => {
  if (queue.endsWith(".dead")) return { ...defaults, ...dead[choice % dead.length] };
  const { isDead, ...settings } = ordinary[choice % ordinary.length] ?? {};
  const target = queue.endsWith("c") ? null : `${queue}.dead`;
  return { ...defaults, ...settings, deadLetterQueue: isDead === true ? target : null };
};
