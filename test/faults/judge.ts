/** Whether a case came out as one of those without a fault did: the request done once, or not before its retry. */
import { judge as judgeOutcome } from "../interleavings/verdict.ts";
import { isMixed } from "./by-message.ts";
import type { Fault, Timing } from "./fault.ts";
import type { Operation } from "./operation.ts";
import type { Peek, Played, Script } from "./play.ts";

/** Scripts without a fault whose outcomes a case may have, by how its time goes by. */
export const scriptsFor: Readonly<Record<Timing, readonly Script[]>> = {
  steady: [
    { before: ["act"], after: [] },
    { before: [], after: ["act"] },
    { before: ["act"], after: ["act"] },
  ],
  frozen: [
    { before: ["frozen", "act"], after: [] },
    { before: ["act", "frozen"], after: [] },
    { before: ["frozen"], after: ["act"] },
    { before: ["frozen", "act"], after: ["act"] },
    { before: ["act", "frozen"], after: ["act"] },
  ],
  days: [
    { before: ["days", "act"], after: [] },
    { before: ["days"], after: ["act"] },
    { before: ["days", "act"], after: ["act"] },
  ],
};

/** Why a case is wrong; nothing when it is not. `expected`: the outcomes of the timing's scripts, in their order. */
export const judge = (
  operation: Operation,
  fault: Fault,
  played: Played,
  expected: readonly Played[],
): readonly string[] => {
  const alike = expected.filter(({ isRetried }) => isRetried === played.isRetried);
  return [
    ...played.restless.map((record) => `recovery run again makes ${record}`),
    ...peekIsWrong(operation, played, expected),
    ...countersWentBack(played, expected[scriptsFor[fault.timing].findIndex(({ before }) => !before.includes("act"))]),
    ...outcomeIsWrong(operation, played, alike),
    ...(fault.mayLeave ? nothingButOrphans(played, expected) : sameLeft(played, alike, fault.timing === "days")),
  ];
};

const peekIsWrong = (operation: Operation, { peek }: Played, expected: readonly Played[]): readonly string[] => {
  const peeks = expected.map((each) => each.peek);
  const isKnown = isOneOf(operation, peek, peeks, textOf);
  const isWrong = !isKnown && !(operation.isByMessage === true && isMixed(peek, peeks));
  return isWrong ? [`after recovery ${textOf(peek)}\n  but ${[...new Set(peeks.map(textOf))].join("\n   or ")}`] : [];
};

/** `untouched`: before the request did anything. */
const countersWentBack = ({ peek }: Played, untouched: Played | undefined): readonly string[] =>
  Object.entries(untouched?.peek.counters ?? {}).flatMap(([queue, least]) =>
    Object.entries(least).flatMap(([name, count]) => {
      const now = peek.counters[queue]?.[name as keyof typeof least];
      return now === undefined || now >= count ? [] : [`${name} of ${queue} went back from ${count} to ${now}`];
    }),
  );

const textOf = ({ counters: _, ...peek }: Peek): string => JSON.stringify(peek);

const outcomeIsWrong = (operation: Operation, played: Played, alike: readonly Played[]): readonly string[] => {
  const outcomes = alike.map((each) => outcomeOf(operation, each));
  const outcome = outcomeOf(operation, played);
  if (
    isOneOf(operation, outcome, outcomes, ({ told, seen: { counters: _, ...seen } }) =>
      JSON.stringify({ told, ...seen }),
    )
  ) {
    return [];
  }
  const verdict = judgeOutcome(outcome, outcomes);
  if (verdict.is === "allowed") return [];
  return operation.isByMessage === true && isMixed(withoutCounters(played), alike.map(withoutCounters))
    ? []
    : [`${played.isRetried ? "retried" : "not retried"}: ${verdict.why}`];
};

const withoutCounters = ({ told, seen: { counters: _, ...seen } }: Played) => ({ told, seen });

const outcomeOf = ({ mayBeLate }: Operation, { told, also, seen }: Played) => ({
  told: { it: mayBeLate === undefined ? [told] : [], also: [also] },
  seen,
});

/** As in one of these; but a call that was cut off may have lost what stands on one queue in them. */
const isOneOf = <T extends object>(
  { mayLose }: Operation,
  one: T,
  known: readonly T[],
  text: (one: T) => string,
): boolean => {
  if (known.some((each) => text(each) === text(one))) return true;
  if (mayLose === undefined) return false;
  let isLost = true;
  const without = (each: T, isSeen = false) =>
    JSON.stringify(each, (name, value) => {
      if (name !== mayLose) return value;
      if (isSeen && MESSAGE.test(JSON.stringify(value))) isLost = false;
      return undefined;
    });
  const seen = without(one, true);
  if (!isLost) return false;
  return known.some((each) => text(JSON.parse(without(each)) as T) === text(JSON.parse(seen) as T));
};

const MESSAGE = /\bm\d\d\b/;

/** `mayEnd`: bodies whose time has ended may have been taken away, which nobody misses. */
const sameLeft = ({ left }: Played, alike: readonly Played[], mayEnd: boolean): readonly string[] =>
  alike.some((each) => isSame(left, each.left) || (mayEnd && isSameButForBodies(left, each.left)))
    ? []
    : [`${JSON.stringify(left)} is left, but ${alike.map((each) => JSON.stringify(each.left)).join(" or ")}`];

const isSame = (a: object, b: object): boolean => JSON.stringify(a) === JSON.stringify(b);

const isSameButForBodies = (
  { "PAYLOAD#": bodies = 0, ...left }: Played["left"],
  { "PAYLOAD#": most = 0, ...expected }: Played["left"],
): boolean => bodies <= most && isSame(left, expected);

/** Bodies and blocks that were laid down before anything named them may be left. */
const nothingButOrphans = ({ left }: Played, expected: readonly Played[]): readonly string[] =>
  (["M#", "XID#", "COMMAND#"] as const).flatMap((kind) => {
    const most = Math.max(...expected.map((each) => each.left[kind] ?? 0));
    return (left[kind] ?? 0) > most ? [`${left[kind]} records ${kind} are left, but at most ${most}`] : [];
  });
