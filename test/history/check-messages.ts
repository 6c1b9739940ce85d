import { type Anomaly, inOrder } from "./anomaly.ts";
import { isSamePlace } from "./check-letters.ts";
import { lettersOf, mayVanish } from "./ends.ts";
import { type Facts, isBefore, isCertain, isRefused, type Out, outcomeIn, type Sent } from "./facts.ts";

/** What became of each message, from its enqueue to the drain. */
export const messages = (facts: Facts): readonly Anomaly[] => [
  ...[...facts.sent.values()].flatMap((sent) => lost(facts, sent)),
  ...tornPublishes(facts),
  ...[...facts.outs].flatMap(([message, outs]) => [
    ...invented(facts, message, outs),
    ...doubled(facts, message, outs),
    ...returned(facts, message, outs),
  ]),
];

/** Acknowledged, never settled by anyone who may have, of nothing that ends messages, and not there at the end. */
const lost = (facts: Facts, sent: Sent): readonly Anomaly[] => {
  const { message, entry, xid, queue } = sent;
  if (xid !== undefined || !isCertain(entry) || !isNowhere(facts, sent)) return [];
  if (facts.outs.get(message)?.some((out) => out.entry.asked.call === "drain") === true) return [];
  return [
    {
      name: "lost",
      says: `${message} was acknowledged, nobody settled it, and it is not there at the end`,
      slice: inOrder(entry, drainOf(facts, queue), drainOf(facts, lettersOf(facts, sent))),
    },
  ];
};

/** Nothing explains it if no drain finds it. A branch that took it without bringing it back is torn, and told as that. */
const isNowhere = (facts: Facts, sent: Sent): boolean =>
  !facts.accepts.has(sent.message) &&
  !mayVanish(facts, sent) &&
  ![...facts.branches.values()].some(({ removes }) => removes.some(({ message }) => message === sent.message));

const drainOf = ({ entries }: Facts, queue: string | undefined) =>
  entries.find(({ asked }) => asked.call === "drain" && asked.queue === queue);

/** A publish that nobody was told of is on all of its queues, or on none. */
const tornPublishes = (facts: Facts): readonly Anomaly[] => {
  const unanswered = [...facts.sent.values()].filter(
    ({ entry, xid, isPersisted }) =>
      entry.asked.call === "publish" && entry.told === undefined && xid === undefined && isPersisted,
  );
  return [...Map.groupBy(unanswered, ({ entry }) => entry)].flatMap(([entry, copies]): readonly Anomaly[] => {
    const there = copies.find(({ message }) => facts.outs.has(message));
    const missing = copies.find((one) => !facts.outs.has(one.message) && isNowhere(facts, one));
    if (there === undefined || missing === undefined) return [];
    const out = facts.outs.get(there.message)?.[0]?.entry;
    const says = `${there.message} was delivered, and ${missing.message} is nowhere`;
    return [{ name: "torn publish", says, slice: inOrder(entry, out, drainOf(facts, missing.queue)) }];
  });
};

const invented = (facts: Facts, message: string, outs: readonly Out[]): readonly Anomaly[] => {
  const { sent, branches } = facts;
  const [first] = outs;
  if (first === undefined) return [];
  const one = sent.get(message);
  const says = (why: string, out = first): readonly Anomaly[] => [
    { name: "invented", says: `${message} was delivered ${why}`, slice: inOrder(one?.entry, out.entry) },
  ];
  if (one === undefined) return says("and nobody enqueued it");
  if (isRefused(one.entry)) return says("although its enqueue was refused");
  const elsewhere = outs.find((out) => !isItsQueue(facts, one, out));
  if (elsewhere !== undefined) return says(`from ${elsewhere.queue}, and it was enqueued to ${one.queue}`, elsewhere);
  if (isBefore(first.entry, one.entry)) return says("before it was enqueued");
  if (one.xid === undefined) return [];
  const commits = branches.get(one.xid)?.entries.filter(({ asked }) => asked.call === "commit") ?? [];
  const isCommitted = commits.some((commit) => !isBefore(first.entry, commit));
  return isCommitted ? [] : says("before anyone asked for its branch's commit");
};

/** The queue that it was put on or, as a dead letter from there, the one for these. */
const isItsQueue = (facts: Facts, sent: Sent, { queue, delivered }: Out): boolean =>
  queue === sent.queue || (queue === lettersOf(facts, sent) && delivered.dead?.queue === sent.queue);

/**
 * A message stands in one place. It leaves it for its dead-letter queue, and comes back to its queue by a redrive: each
 * redrive may explain one place more on each of the two.
 */
const doubled = (facts: Facts, message: string, outs: readonly Out[]): readonly Anomaly[] => {
  const says = (what: string, ...slice: readonly Out[]): readonly Anomaly[] => [
    { name: "doubled", says: `${message} ${what}`, slice: inOrder(...slice.map(({ entry }) => entry)) },
  ];
  for (const out of outs) {
    const before = outs.find((one) => isSamePlace(one, out) && isBefore(one.entry, out.entry));
    if (before === undefined) continue;
    if (!out.delivered.redelivered) return says("was delivered again and does not say redelivered", before, out);
    const between = outs.find(
      (one) => !isSamePlace(one, out) && isBefore(before.entry, one.entry) && isBefore(one.entry, out.entry),
    );
    if (between !== undefined) return says("is again where it was before it was elsewhere", before, between, out);
  }
  for (const here of Map.groupBy(outs, ({ queue }) => queue).values()) {
    const places = here.filter((out, i) => here.findIndex((one) => isSamePlace(one, out)) === i);
    const [first] = places;
    const last = places.at(-1);
    if (first === undefined || last === undefined) continue;
    const redrives = facts.redrives.filter((redrive) => !isBefore(last.entry, redrive));
    if (places.length > 1 + redrives.length) return says("stands in two places", first, last);
  }
  return [];
};

/** Nothing that began after an accept (or the commit of one) was answered may deliver the message. */
const returned = ({ accepts, branches }: Facts, message: string, outs: readonly Out[]): readonly Anomaly[] => {
  const removed = [...branches.values()].filter(
    (branch) =>
      branch.outcome === "committed" &&
      branch.removes.some((remove) => remove.message === message && isCertain(remove.entry)),
  );
  const ends = [
    ...(accepts.get(message) ?? []).filter((accept) => accept.isCertain).map(({ entry }) => entry),
    ...removed.flatMap(({ entries }) =>
      entries.filter((entry) => entry.asked.call === "commit" && outcomeIn(entry) === "committed"),
    ),
  ];
  for (const end of ends) {
    const out = outs.find((each) => isBefore(end, each.entry));
    if (out !== undefined)
      return [
        {
          name: "accept that came back",
          says: `${message} was accepted, and delivered after that`,
          slice: inOrder(end, out.entry),
        },
      ];
  }
  return [];
};
