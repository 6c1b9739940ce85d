import { type Anomaly, inOrder } from "./anomaly.ts";
import { mayVanish } from "./ends.ts";
import { type BranchFacts, type Facts, isBefore, isCertain, outcomeIn } from "./facts.ts";
import type { Entry } from "./history.ts";

/** One outcome, and one that somebody asked for. */
export const outcomes = ({ branches }: Facts): readonly Anomaly[] =>
  [...branches.values()].flatMap((branch): readonly Anomaly[] => {
    const telling = branch.entries.filter((entry) => outcomeIn(entry) !== undefined);
    const [first] = telling;
    const other = telling.find((entry) => first !== undefined && outcomeIn(entry) !== outcomeIn(first));
    if (first !== undefined && other !== undefined) {
      return [
        {
          name: "two outcomes",
          says: `branch ${branch.xid} was told ${outcomeIn(first)} and ${outcomeIn(other)}`,
          slice: inOrder(first, other),
        },
      ];
    }
    const prepared = branch.entries.find(
      ({ asked, told }) => asked.call === "prepare" && told !== undefined && "xa" in told && told.xa === "XA_OK",
    );
    const word = branch.outcome === "committed" ? "commit" : "rollback";
    const isDecided = branch.outcome === "unknown" || branch.entries.some(({ asked }) => asked.call === word);
    if (prepared === undefined || first === undefined || isDecided) return [];
    const says = `branch ${branch.xid} was prepared and is ${branch.outcome}, which nobody asked for`;
    return [{ name: "prepared, then decided by nobody", says, slice: inOrder(prepared, first) }];
  });

/** All of a branch is there, or nothing of it. */
export const branches = (facts: Facts): readonly Anomaly[] =>
  [...facts.branches.values()].flatMap((branch): readonly Anomaly[] => {
    const half = halfOf(branch, [...addEffects(facts, branch), ...removeEffects(facts, branch)]);
    if (half === undefined) return [];
    const telling = branch.entries.find((entry) => outcomeIn(entry) !== undefined);
    const slice = inOrder(...half.slice, telling);
    return [{ name: "torn branch", says: `branch ${branch.xid} ${half.says}`, slice }];
  });

/** What contradicts the branch's outcome, or itself. */
const halfOf = ({ outcome }: BranchFacts, effects: readonly Effect[]): Omit<Effect, "is"> | undefined => {
  const done = effects.find(({ is }) => is === "done");
  const undone = effects.find(({ is }) => is === "undone");
  switch (outcome) {
    case "committed":
      return undone && { ...undone, says: `was committed, and ${undone.says}` };
    case "rolled-back":
      return done && { ...done, says: `was rolled back, and ${done.says}` };
    case "unknown":
      return (
        done &&
        undone && { says: `is half done: ${done.says}, and ${undone.says}`, slice: [...done.slice, ...undone.slice] }
      );
  }
};

interface Effect {
  readonly is: "done" | "undone" | "not known";
  readonly says: string;
  readonly slice: readonly Entry[];
}

const addEffects = (facts: Facts, { adds }: BranchFacts): readonly Effect[] =>
  adds.map((sent): Effect => {
    const { message, entry } = sent;
    const out = facts.outs.get(message)?.[0];
    if (out !== undefined)
      return { is: "done", says: `${message}, which it enqueued, was delivered`, slice: [entry, out.entry] };
    // What was not acknowledged may never have been on the branch.
    if (!isCertain(entry) || mayVanish(facts, sent)) return { is: "not known", says: "", slice: [] };
    return { is: "undone", says: `${message}, which it enqueued, is nowhere`, slice: [entry] };
  });

const removeEffects = (facts: Facts, branch: BranchFacts): readonly Effect[] =>
  branch.removes
    .filter(({ entry }) => isCertain(entry))
    .map(({ message, entry }): Effect => {
      const later = facts.outs.get(message)?.find((out) => isBefore(entry, out.entry));
      if (later !== undefined)
        return {
          is: "undone",
          says: `${message}, which it accepted, was delivered after that`,
          slice: [entry, later.entry],
        };
      const others = [...facts.branches.values()].some(
        (each) => each !== branch && each.removes.some((remove) => remove.message === message),
      );
      const sent = facts.sent.get(message);
      const hasVanished = sent !== undefined && mayVanish(facts, sent);
      if (others || hasVanished || facts.accepts.has(message) || lostAnswers(facts, message))
        return { is: "not known", says: "", slice: [] };
      return { is: "done", says: `${message}, which it accepted, never came back`, slice: [entry] };
    });

/** Whether an acquire without an answer may have taken it for good: those that settle on delivery are only the drains. */
const lostAnswers = ({ entries }: Facts, message: string): boolean =>
  entries.some(({ asked, told }) => asked.call === "drain" && told === undefined && message !== "");
