import { type Anomaly, inOrder } from "./anomaly.ts";
import { lettersOf, rulesOf } from "./ends.ts";
import { type Facts, isBefore, type Out } from "./facts.ts";

/** Dead letters: each died of something that could end it, and what was rejected is not delivered from its old place. */
export const letters = (facts: Facts): readonly Anomaly[] => [
  ...[...facts.outs].flatMap(([message, outs]) => outs.flatMap((out) => withoutCause(facts, message, out)).slice(0, 1)),
  ...[...facts.rejects.keys()].flatMap((message) => rejectedAgain(facts, message)),
];

const withoutCause = (facts: Facts, message: string, out: Out): readonly Anomaly[] => {
  const sent = facts.sent.get(message);
  const { dead } = out.delivered;
  if (sent === undefined || dead === undefined || out.queue !== lettersOf(facts, sent)) return [];
  const { messageTtlSeconds, maxDeliveries = Number.POSITIVE_INFINITY } = rulesOf(facts, sent.queue);
  const rejects = (facts.rejects.get(message) ?? []).filter(({ queue }) => queue === sent.queue);
  const hasCause = {
    rejected: rejects.some(({ entry }) => !isBefore(out.entry, entry)),
    expired: sent.ttlSeconds !== undefined || messageTtlSeconds !== undefined,
    "max-deliveries": dead.deliveryCount >= maxDeliveries,
  }[dead.reason];
  if (hasCause === true) return [];
  const says = `${message} is a dead letter of ${sent.queue}, "${dead.reason}", which nothing explains`;
  return [{ name: "dead without a cause", says, slice: inOrder(sent.entry, out.entry) }];
};

const rejectedAgain = ({ outs, rejects }: Facts, message: string): readonly Anomaly[] => {
  const all = outs.get(message) ?? [];
  for (const { entry, deliveryId, isCertain } of rejects.get(message) ?? []) {
    const place = all.find(({ delivered }) => delivered.deliveryId === deliveryId);
    const again = all.find((out) => place !== undefined && isSamePlace(out, place) && isBefore(entry, out.entry));
    if (!isCertain || again === undefined) continue;
    const says = `${message} was rejected, and delivered from the same place after that`;
    return [{ name: "reject that came back", says, slice: inOrder(entry, again.entry) }];
  }
  return [];
};

export const isSamePlace = (a: Out, b: Out): boolean =>
  a.queue === b.queue && a.delivered.sequence === b.delivered.sequence;
