import { type Anomaly, inOrder } from "./anomaly.ts";
import { rulesOf } from "./ends.ts";
import { type Facts, isBefore, isCertain, isRefused, type Sent } from "./facts.ts";
import type { Entry } from "./history.ts";

/** Queues with a limit keep to it, and only they refuse for it; a ring drops its oldest. */
export const limits = (facts: Facts): readonly Anomaly[] => [
  ...facts.entries.flatMap((entry) => passed(facts, entry)),
  ...facts.entries.flatMap((entry) => refusedInVain(facts, entry)),
  ...[...facts.rules].flatMap(([queue, { overflow }]) => (overflow === "ring" ? droppedOutOfOrder(facts, queue) : [])),
];

/** While others work, counts of several records need not be of one moment: at rest they are. */
const passed = (facts: Facts, entry: Entry): readonly Anomaly[] => {
  const { asked, told } = entry;
  if (asked.call !== "stats" || asked.isAtRest !== true || told === undefined || !("stats" in told)) return [];
  const { maxMessages = Number.POSITIVE_INFINITY } = rulesOf(facts, asked.queue);
  const { available, leased, held } = told.stats;
  if (available + leased + held <= maxMessages) return [];
  const says = `${asked.queue} holds ${available + leased + held} messages, at most ${maxMessages} may be`;
  return [{ name: "limit that was passed", says, slice: [entry] }];
};

/** Refused as full: one of its queues must have a limit, and have been sent enough to reach it. */
const refusedInVain = (facts: Facts, entry: Entry): readonly Anomaly[] => {
  const { asked, told } = entry;
  if (asked.call !== "enqueue" && asked.call !== "publish") return [];
  if (told === undefined || !("refused" in told) || told.refused !== "resource-limit-exceeded") return [];
  const queues = asked.call === "enqueue" ? [asked.queue] : asked.queues;
  const mayBeFull = queues.some((queue) => {
    const { maxMessages } = rulesOf(facts, queue);
    return maxMessages !== undefined && sentTo(facts, queue, entry) + asked.messages.length > maxMessages;
  });
  if (mayBeFull) return [];
  const says = `${queues.join(", ")} refused ${asked.messages.length} messages as full, and cannot have been`;
  return [{ name: "refused without a cause", says, slice: [entry] }];
};

/** What may have been there when the refusal was answered. */
const sentTo = ({ sent }: Facts, queue: string, refusal: Entry): number =>
  [...sent.values()].filter((one) => one.queue === queue && !isRefused(one.entry) && !isBefore(refusal, one.entry))
    .length;

/**
 * One that was dropped, and an older one that was free all the time and is there at the end. Free was what nobody was ever
 * given: what an unanswered acquire took says `redelivered`.
 */
const droppedOutOfOrder = (facts: Facts, queue: string): readonly Anomaly[] => {
  const all = [...facts.sent.values()].filter(
    ({ queue: at, xid, entry, isPersisted }) => at === queue && xid === undefined && isPersisted && isCertain(entry),
  );
  const gone = all.filter(
    ({ message, ttlSeconds }) => ttlSeconds === undefined && !facts.outs.has(message) && !facts.rejects.has(message),
  );
  const left = all.filter(({ message }) => {
    const [first, ...more] = facts.outs.get(message) ?? [];
    return first?.entry.asked.call === "drain" && !first.delivered.redelivered && more.length === 0;
  });
  for (const dropped of gone) {
    const older = left.find((one) => isOlder(one, dropped));
    if (older === undefined) continue;
    const drain = facts.outs.get(older.message)?.[0]?.entry;
    const says = `${queue} dropped ${dropped.message} and kept ${older.message}, which is older`;
    return [{ name: "newer dropped before older", says, slice: inOrder(older.entry, dropped.entry, drain) }];
  }
  return [];
};

const isOlder = (a: Sent, b: Sent): boolean => isBefore(a.entry, b.entry);
