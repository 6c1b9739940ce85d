import { type Anomaly, inOrder } from "./anomaly.ts";
import { rulesOf } from "./ends.ts";
import { type Facts, isBefore, isCertain, type Sent } from "./facts.ts";
import type { Entry } from "./history.ts";

/** Messages stand in the order in which they were put. */
export const order = (facts: Facts): readonly Anomaly[] => [
  ...withinCalls(facts),
  ...betweenCalls(facts),
  ...withinSessions(facts),
];

interface Placed {
  readonly message: string;
  readonly sequence: bigint;
  /** The entry that put it there: of a branch, the commit that was answered. */
  readonly by: Entry;
}

/** Where it was put. One that may have come back from a dead-letter queue has its first place only from its enqueue. */
const sequenceOf = (facts: Facts, sent: Sent): bigint | undefined => {
  const { entry, index, queue } = sent;
  const told = entry.told !== undefined && "sequences" in entry.told ? entry.told.sequences[index] : undefined;
  const seen = facts.outs.get(sent.message)?.find((out) => out.queue === queue)?.delivered.sequence;
  const isAtItsFirst = facts.redrives.length === 0 || facts.rules.get(queue)?.deadLetterQueue === undefined;
  const sequence = told === undefined || told === "" ? (isAtItsFirst ? seen : undefined) : told;
  return sequence === undefined ? undefined : BigInt(sequence);
};

/** The messages of one call, of one branch on one queue, and of one answer, each in their order. */
const withinCalls = (facts: Facts): readonly Anomaly[] => {
  const groups = Map.groupBy(facts.sent.values(), ({ entry, xid, queue }) =>
    xid === undefined ? `call ${entry.n} on ${queue}` : `branch ${xid} on ${queue}`,
  );
  const sendings = [...groups].flatMap(([group, all]) =>
    rising(
      `what ${group} enqueued`,
      all.flatMap((sent) => {
        const sequence = sequenceOf(facts, sent);
        return sequence === undefined ? [] : [{ message: sent.message, sequence, by: sent.entry }];
      }),
    ),
  );
  const answers = facts.entries.flatMap((entry) => {
    const { told } = entry;
    if (told === undefined || !("deliveries" in told)) return [];
    return rising(
      "what was delivered at once",
      told.deliveries.map(({ message, sequence }) => ({ message, sequence: BigInt(sequence), by: entry })),
    );
  });
  return [...sendings, ...answers];
};

const rising = (what: string, all: readonly Placed[]): readonly Anomaly[] => {
  const at = all.findIndex((placed, i) => i > 0 && placed.sequence <= (all[i - 1]?.sequence ?? 0n));
  const [before, after] = [all[at - 1], all[at]];
  if (before === undefined || after === undefined) return [];
  return [
    {
      name: "reordered",
      says: `${what}: ${after.message} does not stand behind ${before.message}`,
      slice: inOrder(before.by, after.by),
    },
  ];
};

/**
 * What a session sent to a queue stands there in the order in which it was sent, as a command or not: all that is persisted,
 * all that need not be, and on a queue of strict order both.
 */
const withinSessions = (facts: Facts): readonly Anomaly[] => {
  const groups = Map.groupBy(facts.sent.values(), ({ session, queue, xid, isPersisted }) => {
    if (session === undefined || xid !== undefined) return undefined;
    const isStrict = rulesOf(facts, queue).strictOrder === true;
    return `${session} to ${queue}: ${isStrict ? "everything" : isPersisted ? "what is persisted" : "what is not"}`;
  });
  return [...groups].flatMap(([group, all]): readonly Anomaly[] => {
    if (group === undefined) return [];
    const there = all.flatMap((sent): readonly Placed[] => {
      const sequence = sequenceOf(facts, sent);
      const by = facts.recorded.get(sent.entry.n) ?? sent.entry;
      return sequence === undefined ? [] : [{ message: sent.message, sequence, by }];
    });
    for (const later of there) {
      const earlier = there.find(
        (one) => isCertain(one.by) && isBefore(one.by, later.by) && one.sequence > later.sequence,
      );
      if (earlier === undefined) continue;
      const says = `${group}: ${later.message} was sent after ${earlier.message} and stands before it`;
      return [{ name: "reordered", says, slice: inOrder(earlier.by, later.by) }];
    }
    return [];
  });
};

/** What was put on a queue by a call that was answered stands before everything that later calls put there. */
const betweenCalls = (facts: Facts): readonly Anomaly[] => {
  const byQueue = Map.groupBy(
    [...facts.sent.values()].flatMap((sent) => placed(facts, sent)),
    ({ queue }) => queue,
  );
  return [...byQueue.values()].flatMap((all): readonly Anomaly[] => {
    const ended = all
      .filter(({ by, isThere }) => by.untilMs !== undefined && isThere)
      .toSorted((a, b) => (a.by.untilMs ?? 0) - (b.by.untilMs ?? 0));
    const begun = all.toSorted((a, b) => a.by.atMs - b.by.atMs);
    let highest: Placed | undefined;
    let next = 0;
    for (const later of begun) {
      for (let done = ended[next]; done !== undefined && (done.by.untilMs ?? 0) < later.by.atMs; done = ended[++next]) {
        if (highest === undefined || done.sequence > highest.sequence) highest = done;
      }
      if (highest !== undefined && later.sequence < highest.sequence) {
        return [
          {
            name: "reordered",
            says: `${later.message} was enqueued after ${highest.message} and stands before it`,
            slice: inOrder(highest.by, later.by),
          },
        ];
      }
    }
    return [];
  });
};

/** `isThere`: when its call was answered it had its place. */
interface PlacedOn extends Placed {
  readonly queue: string;
  readonly isThere: boolean;
}

const placed = (facts: Facts, sent: Sent): readonly PlacedOn[] => {
  const sequence = sequenceOf(facts, sent);
  if (sequence === undefined) return [];
  const { message, queue, isPersisted: isThere } = sent;
  if (sent.xid === undefined) return [{ message, sequence, by: sent.entry, queue, isThere }];
  // It may have been any of several attempts that committed; only one that was the first says when.
  const commits = facts.branches.get(sent.xid)?.entries.filter(({ asked }) => asked.call === "commit") ?? [];
  const [only] = commits;
  return only === undefined || commits.length > 1 ? [] : [{ message, sequence, by: only, queue, isThere }];
};
