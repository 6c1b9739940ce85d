/** How large the table takes a record to be: AWS's rules for attribute names and values, which decide what a write costs. */
import type { Item, Value } from "./write.ts";

/** The bytes of an item, its attribute names included. */
export const itemBytes = (item: Item): number =>
  Object.entries(item).reduce(
    (sum, [name, value]) => sum + (value === undefined ? 0 : Buffer.byteLength(name) + valueBytes(value)),
    0,
  );

const valueBytes = (value: Value): number => {
  if (value === null || typeof value === "boolean") return 1;
  if (typeof value === "string") return Buffer.byteLength(value);
  // Two digits a byte, one byte for the exponent and one for a sign.
  if (typeof value === "number") return Math.ceil(String(value).length / 2) + 2;
  if (value instanceof Uint8Array) return value.length;
  // A list or a map takes 3 bytes, and 1 more for each element.
  if (isList(value)) return value.reduce<number>((sum, element) => sum + valueBytes(element) + 1, 3);
  return 3 + itemBytes(value) + Object.keys(value).length;
};

const isList = (value: Value): value is readonly Value[] => Array.isArray(value);
