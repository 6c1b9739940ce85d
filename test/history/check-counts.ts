import { type Anomaly, inOrder } from "./anomaly.ts";
import { type Facts, isBefore, isCertain, isRefused } from "./facts.ts";
import type { Entry } from "./history.ts";

/** At rest the depth is what a drain finds. */
export const depths = ({ entries }: Facts): readonly Anomaly[] =>
  entries.flatMap((drain): readonly Anomaly[] => {
    if (drain.asked.call !== "drain" || drain.told === undefined || !("deliveries" in drain.told)) return [];
    const { queue } = drain.asked;
    const rest = entries.findLast(
      ({ n, asked }) => n < drain.n && asked.call === "stats" && asked.isAtRest === true && asked.queue === queue,
    );
    if (rest?.told === undefined || !("stats" in rest.told)) return [];
    const { available, leased, held } = rest.told.stats;
    const found = drain.told.deliveries.length;
    if (available === found && leased === 0 && held === 0) return [];
    const says = `${queue} said available ${available}, leased ${leased}, held ${held} at rest, and its drain found ${found}`;
    return [{ name: "depth that a drain contradicts", says, slice: inOrder(rest, drain) }];
  });

/** Counters never go back, and never run behind what was acknowledged. */
export const counters = (facts: Facts): readonly Anomaly[] => {
  const reads = facts.entries.filter(({ asked }) => asked.call === "stats");
  const byQueue = Map.groupBy(reads, ({ asked }) => ("queue" in asked ? asked.queue : ""));
  return [...byQueue].flatMap(([queue, all]) => [...goingBack(queue, all), ...behind(facts, queue, all)]);
};

const counterNames = ["changes", "enqueued", "settled", "deadLettered"] as const;

const countsOf = ({ told }: Entry) => (told !== undefined && "stats" in told ? told.stats : undefined);

const goingBack = (queue: string, reads: readonly Entry[]): readonly Anomaly[] => {
  for (const [i, later] of reads.entries()) {
    for (const earlier of reads.slice(0, i)) {
      const [a, b] = [countsOf(earlier), countsOf(later)];
      if (a === undefined || b === undefined || !isBefore(earlier, later)) continue;
      const name = counterNames.find((counter) => b[counter] < a[counter]);
      if (name !== undefined) {
        return [
          {
            name: "counter that went back",
            says: `${name} of ${queue} went from ${a[name]} to ${b[name]}`,
            slice: inOrder(earlier, later),
          },
        ];
      }
    }
  }
  return [];
};

/** What was acknowledged before a read began is counted in it. */
const behind = (facts: Facts, queue: string, reads: readonly Entry[]): readonly Anomaly[] => {
  const ends = [...facts.sent.values()]
    .filter((sent) => sent.queue === queue && sent.xid === undefined && sent.isPersisted && isCertain(sent.entry))
    .map(({ entry }) => entry);
  for (const read of reads) {
    const counts = countsOf(read);
    const certain = ends.filter((entry) => isBefore(entry, read));
    if (counts === undefined || counts.enqueued >= certain.length) continue;
    const says = `enqueued of ${queue} is ${counts.enqueued} after ${certain.length} acknowledged messages`;
    return [{ name: "counter that runs behind", says, slice: inOrder(certain.at(-1), read) }];
  }
  return [];
};

/** Nothing that began after a newer epoch was answered may do anything under the older one. */
export const fences = ({ recorded }: Facts): readonly Anomaly[] => {
  const entries = [...recorded.values()];
  const attached = entries.filter(
    ({ asked, told }) => asked.call === "attach" && told !== undefined && "epoch" in told,
  );
  for (const entry of entries) {
    const { asked, told } = entry;
    const session = "session" in asked ? asked.session : undefined;
    if (
      session === undefined ||
      session.epoch === 0 ||
      asked.call === "attach" ||
      told === undefined ||
      isRefused(entry)
    )
      continue;
    const newer = attached.find(
      (attach) =>
        attach.asked.call === "attach" &&
        attach.asked.session.name === session.name &&
        attach.told !== undefined &&
        "epoch" in attach.told &&
        attach.told.epoch > session.epoch &&
        isBefore(attach, entry),
    );
    if (newer !== undefined) {
      return [
        {
          name: "old epoch that was let through",
          says: `epoch ${session.epoch} of ${session.name} did a ${asked.call}`,
          slice: inOrder(newer, entry),
        },
      ];
    }
  }
  return [];
};
