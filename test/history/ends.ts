/** How a message may end on a queue without being accepted. */
import type { Facts, Sent } from "./facts.ts";
import type { QueueRules } from "./history.ts";

const noRules: QueueRules = {};

export const rulesOf = ({ rules }: Facts, queue: string): QueueRules => rules.get(queue) ?? noRules;

/** Where what is dead on the message's queue goes. */
export const lettersOf = (facts: Facts, { queue }: Sent): string | undefined => rulesOf(facts, queue).deadLetterQueue;

/** Whether it may be nowhere at the end although nobody accepted it: nothing of that is a loss. */
export const mayVanish = (facts: Facts, sent: Sent): boolean => {
  const letters = lettersOf(facts, sent);
  if (mayBeDropped(facts, sent) || mayBeLostOnItsWay(facts, sent)) return true;
  if (sent.ttlSeconds === undefined && !endsOn(facts, sent, sent.queue)) return false;
  return letters === undefined || rulesOf(facts, letters).maxMessages !== undefined || endsOn(facts, sent, letters);
};

const endsOn = (facts: Facts, { message }: Sent, queue: string): boolean => {
  const { messageTtlSeconds, maxDeliveries } = rulesOf(facts, queue);
  const isRejected = facts.rejects.get(message)?.some((reject) => reject.queue === queue) === true;
  return isRejected || messageTtlSeconds !== undefined || maxDeliveries !== undefined;
};

/** A ring drops a message for others: there must have been as many as the ring holds. */
const mayBeDropped = (facts: Facts, { message, queue }: Sent): boolean => {
  const { overflow, maxMessages } = rulesOf(facts, queue);
  if (overflow !== "ring" || maxMessages === undefined) return false;
  const others = [...facts.sent.values()].filter((other) => other.queue === queue && other.message !== message);
  return others.length >= maxMessages;
};

/** What need not be persisted is dropped by a full queue, and may be gone with everything that was killed; delivered, it was stored. */
const mayBeLostOnItsWay = (facts: Facts, { message, queue, entry, isPersisted }: Sent): boolean =>
  !isPersisted &&
  !facts.outs.has(message) &&
  (rulesOf(facts, queue).maxMessages !== undefined ||
    facts.entries.some(({ asked, n }) => n > entry.n && asked.call === "event" && asked.what === KILL_OF_EVERYTHING));

export const KILL_OF_EVERYTHING = "kill -9 of everything";
