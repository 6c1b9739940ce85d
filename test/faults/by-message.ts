/** Outcomes in which each message is decided on its own: some as in one outcome, some as in another. */

/**
 * Whether each part of what was seen is as in one of these outcomes, and every list in the order of names. A part is a
 * message on a list, or whatever is no list; how many there are of them lies between what the outcomes count.
 */
export const isMixed = (seen: object, outcomes: readonly object[]): boolean => {
  const fates = fatesOf(seen);
  const known = outcomes.map(fatesOf);
  if (!isInOrder(seen)) return false;
  return [...new Set([...fates.keys(), ...known.flatMap((each) => [...each.keys()])])].every((message) =>
    known.some((each) => (each.get(message) ?? "") === (fates.get(message) ?? "")),
  );
};

/** Names of messages that are decided on their own: `m01`, `m02`, … */
const MESSAGE = /\bm\d\d\b(?: \([^)]*\))?/g;

/** Of each message, where it is found and how; of everything else nothing. */
const fatesOf = (seen: object): ReadonlyMap<string, string> => {
  const fates = new Map<string, string>();
  for (const [path, text] of textsIn(seen, "")) {
    for (const [found] of text.matchAll(MESSAGE)) {
      const name = found.slice(0, 3);
      fates.set(name, `${fates.get(name) ?? ""}${path}: ${found}; `);
    }
  }
  return fates;
};

const isInOrder = (seen: object): boolean =>
  listsIn(seen).every((list) => {
    const names = [...list.matchAll(MESSAGE)].map(([found]) => found.slice(0, 3));
    return names.join() === names.toSorted().join();
  });

const listsIn = (value: unknown): readonly string[] => {
  if (typeof value === "string") return [value];
  if (Array.isArray(value) && value.every((each) => typeof each === "string")) return [value.join(" ")];
  if (typeof value === "object" && value !== null) return Object.values(value).flatMap(listsIn);
  return [];
};

const textsIn = (value: unknown, path: string): readonly (readonly [string, string])[] => {
  if (typeof value === "string") return [[path, value]];
  if (Array.isArray(value) && value.every((each) => typeof each === "string")) {
    return value.map((each: string) => [path, each] as const);
  }
  if (typeof value === "object" && value !== null) {
    return Object.entries(value).flatMap(([name, each]) => textsIn(each, `${path}.${name}`));
  }
  return [];
};
