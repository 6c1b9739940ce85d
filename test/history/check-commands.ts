import { type Anomaly, inOrder } from "./anomaly.ts";
import { type Facts, isBefore, isRefused } from "./facts.ts";
import type { Entry } from "./history.ts";
import { commandIn, type Read, readsOf } from "./resolve.ts";

/** What was answered as a command completes once, and whoever reads completions by ranges reads every one. */
export const commands = ({ recorded }: Facts): readonly Anomaly[] => {
  const entries = [...recorded.values()];
  const reads = Map.groupBy(readsOf(entries), ({ session }) => session);
  return [
    ...givenTwice(entries),
    ...neverCompleted(entries, reads),
    ...[...reads.values()].flatMap((all) => [...completedTwice(all), ...passedOver(all)]),
  ];
};

const givenTwice = (entries: readonly Entry[]): readonly Anomaly[] => {
  const byId = Map.groupBy(entries, (entry) => {
    const command = commandIn(entry);
    return command && `${command.id} of ${command.session}`;
  });
  return [...byId].flatMap(([id, [first, second]]): readonly Anomaly[] =>
    id === undefined || second === undefined
      ? []
      : [
          {
            name: "command id that was given twice",
            says: `two calls are command ${id}`,
            slice: inOrder(first, second),
          },
        ],
  );
};

/** At rest each is complete. Of a session that was detached nobody is told. */
const neverCompleted = (entries: readonly Entry[], reads: ReadonlyMap<string, readonly Read[]>): readonly Anomaly[] => {
  const detached = new Set(
    entries.flatMap((entry) =>
      entry.asked.call === "detach" && !isRefused(entry)
        ? [`${entry.asked.session.name}@${entry.asked.session.epoch}`]
        : [],
    ),
  );
  return entries.flatMap((entry): readonly Anomaly[] => {
    const command = commandIn(entry);
    const session = "session" in entry.asked ? entry.asked.session : undefined;
    if (command === undefined || detached.has(`${session?.name}@${session?.epoch}`)) return [];
    const atRest = (reads.get(command.session) ?? []).filter(({ isAtRest }) => isAtRest);
    const isTold = atRest.some(({ completions }) => completions.some(({ id }) => id === command.id));
    if (atRest.length === 0 || isTold) return [];
    const says = `command ${command.id} of ${command.session} was taken, and has no completion at the end`;
    return [{ name: "command that never completed", says, slice: inOrder(entry, atRest.at(-1)?.entry) }];
  });
};

const completedTwice = (reads: readonly Read[]): readonly Anomaly[] => {
  const first = new Map<string, { readonly entry: Entry; readonly told: string }>();
  for (const { entry, session, completions } of reads) {
    for (const completed of completions) {
      const told = JSON.stringify(completed);
      const before = first.get(completed.id);
      if (before === undefined) first.set(completed.id, { entry, told });
      else if (before.told !== told || before.entry === entry) {
        const says = `command ${completed.id} of ${session} has two completions`;
        return [{ name: "command that completed twice", says, slice: inOrder(before.entry, entry) }];
      }
    }
  }
  return [];
};

/** A read that says it is complete up to an id has every completion up to there: none comes after that. */
const passedOver = (reads: readonly Read[]): readonly Anomaly[] => {
  for (const later of reads) {
    for (const { id } of later.completions) {
      const earlier = reads.find(
        ({ entry, after, through, completions }) =>
          isBefore(entry, later.entry) &&
          after < Number(id) &&
          Number(id) <= through &&
          !completions.some((one) => one.id === id),
      );
      if (earlier === undefined) continue;
      const says = `a read after ${earlier.after} was complete through ${earlier.through} without ${id}, which came later`;
      return [{ name: "completion that was passed over", says, slice: inOrder(earlier.entry, later.entry) }];
    }
  }
  return [];
};
