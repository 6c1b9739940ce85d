/** Commands in a history: what each came to is told later, by a completion. */
import type { Asked, Completed, Entry, Told } from "./history.ts";

/** The session's name and the id of a call that was answered as a command. */
export const commandIn = ({ asked, told }: Entry): { readonly session: string; readonly id: string } | undefined =>
  told !== undefined && "commandId" in told && "session" in asked && asked.session !== undefined
    ? { session: asked.session.name, id: told.commandId }
    : undefined;

/** The reads of completions that were answered. */
export const readsOf = (entries: readonly Entry[]): readonly Read[] =>
  entries.flatMap((entry) => {
    const { asked, told } = entry;
    if (asked.call !== "completions" || told === undefined || !("completions" in told)) return [];
    const { session, after, isAtRest = false } = asked;
    const { completions, through } = told;
    return [{ entry, session: session.name, after: Number(after), isAtRest, completions, through: Number(through) }];
  });

export interface Read {
  readonly entry: Entry;
  readonly session: string;
  readonly after: number;
  readonly isAtRest: boolean;
  readonly completions: readonly Completed[];
  readonly through: number;
}

/**
 * Each call that became a command as if it had been answered when its completion was first read, and as this says; as one
 * without an answer where nobody ever read one.
 */
export const resolve = (entries: readonly Entry[]): readonly Entry[] => {
  const first = new Map<string, { readonly read: Entry; readonly completed: Completed }>();
  for (const { entry, session, completions } of readsOf(entries)) {
    for (const completed of completions) {
      const key = `${session}#${completed.id}`;
      if (!first.has(key)) first.set(key, { read: entry, completed });
    }
  }
  return entries.map((entry) => {
    const command = commandIn(entry);
    if (command === undefined) return entry;
    const { told: _, untilMs: __, ...open } = entry;
    const found = first.get(`${command.session}#${command.id}`);
    const told = found && toldBy(entry.asked, found.completed);
    const untilMs = found?.read.untilMs;
    return told === undefined || untilMs === undefined ? open : { ...open, told, untilMs };
  });
};

/** What the call would have answered; of one that failed for a defect nobody knows what it did. */
const toldBy = (asked: Asked, { status, refused, places, statuses }: Completed): Told | undefined => {
  if (status >= 500) return undefined;
  if (refused !== undefined) return { refused };
  if (statuses !== undefined) return { statuses };
  if (places === undefined) return { done: true };
  const queues = asked.call === "publish" ? asked.queues : asked.call === "enqueue" ? [asked.queue] : [];
  return { sequences: places.flatMap((place) => queues.map((queue) => place[queue] ?? "")) };
};
