import { type Anomaly, inOrder } from "./anomaly.ts";
import { type Facts, isBefore, isCertain, isRefused, type Out, outcomeIn, type Sent } from "./facts.ts";

/** What became of each message, from its enqueue to the drain. */
export const messages = (facts: Facts): readonly Anomaly[] => [
  ...[...facts.sent.values()].flatMap((sent) => lost(facts, sent)),
  ...[...facts.outs].flatMap(([message, outs]) => [
    ...invented(facts, message, outs),
    ...doubled(message, outs),
    ...returned(facts, message, outs),
  ]),
];

/** Acknowledged, never settled by anyone who may have, and not there at the end. */
const lost = (facts: Facts, { message, entry, xid }: Sent): readonly Anomaly[] => {
  if (xid !== undefined || !isCertain(entry) || facts.accepts.has(message)) return [];
  if (facts.outs.get(message)?.some((out) => out.entry.asked.call === "drain") === true) return [];
  const removers = [...facts.branches.values()].filter((branch) =>
    branch.removes.some((remove) => remove.message === message),
  );
  // A branch that took it without bringing it back is torn, and told as that.
  if (removers.length > 0) return [];
  const drain = facts.entries.find(
    ({ asked }) => asked.call === "drain" && entry.asked.call === "enqueue" && asked.queue === entry.asked.queue,
  );
  return [
    {
      name: "lost",
      says: `${message} was acknowledged, nobody settled it, and it is not there at the end`,
      slice: inOrder(entry, drain),
    },
  ];
};

const invented = ({ sent, branches }: Facts, message: string, outs: readonly Out[]): readonly Anomaly[] => {
  const [first] = outs;
  if (first === undefined) return [];
  const one = sent.get(message);
  const says = (why: string): readonly Anomaly[] => [
    { name: "invented", says: `${message} was delivered ${why}`, slice: inOrder(one?.entry, first.entry) },
  ];
  if (one === undefined) return says("and nobody enqueued it");
  if (isRefused(one.entry)) return says("although its enqueue was refused");
  if (one.queue !== first.queue) return says(`from ${first.queue}, and it was enqueued to ${one.queue}`);
  if (isBefore(first.entry, one.entry)) return says("before it was enqueued");
  if (one.xid === undefined) return [];
  const commits = branches.get(one.xid)?.entries.filter(({ asked }) => asked.call === "commit") ?? [];
  const isCommitted = commits.some((commit) => !isBefore(first.entry, commit));
  return isCommitted ? [] : says("before anyone asked for its branch's commit");
};

const doubled = (message: string, outs: readonly Out[]): readonly Anomaly[] => {
  const [first] = outs;
  const again = outs.find(
    (out) => first !== undefined && isBefore(first.entry, out.entry) && !out.delivered.redelivered,
  );
  if (first !== undefined && again !== undefined) {
    return [
      {
        name: "doubled",
        says: `${message} was delivered again and does not say redelivered`,
        slice: inOrder(first.entry, again.entry),
      },
    ];
  }
  const elsewhere = outs.find(
    (out) => first !== undefined && (out.delivered.sequence !== first.delivered.sequence || out.queue !== first.queue),
  );
  if (first === undefined || elsewhere === undefined) return [];
  return [{ name: "doubled", says: `${message} stands in two places`, slice: inOrder(first.entry, elsewhere.entry) }];
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
