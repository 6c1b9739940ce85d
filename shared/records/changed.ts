/** What a change makes of a record, as the table would: for a commit that is applied again to a copy. */
import { isMap } from "./reading.ts";
import type { Change, Item, Path, Value } from "./write.ts";

/** Throws when a path leads through something that is no map, or adds to what is no number. */
export const changed = (item: Item, change: Change): Item => {
  let after: Item = item;
  for (const [path, value] of change.set ?? []) after = replaced(after, path, () => value);
  for (const [path, values] of change.append ?? []) {
    after = replaced(after, path, (old) => [...listOf(old), ...values]);
  }
  for (const [path, by] of change.add ?? []) after = replaced(after, path, (old) => numberOf(old) + by);
  for (const path of change.remove ?? []) after = replaced(after, path, () => undefined);
  return after;
};

type Attributes = { readonly [name: string]: Value | undefined };

const replaced = (item: Attributes, path: Path, change: (old: Value | undefined) => Value | undefined): Item => {
  const [name, next, ...rest] = path;
  if (next === undefined) return { ...item, [name]: change(item[name]) };
  const inner = item[name];
  if (!isMap(inner)) throw new Error(`${name} is not a map`);
  return { ...item, [name]: replaced(inner, [next, ...rest], change) };
};

const listOf = (value: Value | undefined): readonly Value[] => {
  if (!Array.isArray(value)) throw new Error("what is appended to is not a list");
  return value as readonly Value[];
};

/** DynamoDB adds to nothing as if it were 0. */
const numberOf = (value: Value | undefined): number => {
  if (value !== undefined && typeof value !== "number") throw new Error("what is added to is not a number");
  return value ?? 0;
};
