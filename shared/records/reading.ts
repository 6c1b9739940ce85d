/** Readers check again what they read: a record that is not what it should be is a defect with a name, never nonsense. */
import type { Item, Key, Value } from "./write.ts";

/** A record that cannot be read; recovery lists it as unreadable and goes on with the others. */
export class Unreadable extends Error {
  override readonly name = "Unreadable";
  readonly key: Key;

  constructor(item: Item, problem: string) {
    const key = { pk: String(item.pk), sk: String(item.sk) };
    super(`record ${key.pk} ${key.sk}: ${problem}`);
    this.key = key;
  }
}

export const text = (item: Item, attribute: string): string => {
  const value = item[attribute];
  if (typeof value !== "string") throw new Unreadable(item, `${attribute} is not a string`);
  return value;
};

export const whole = (item: Item, attribute: string): number => {
  const value = item[attribute];
  if (typeof value !== "number" || !Number.isSafeInteger(value))
    throw new Unreadable(item, `${attribute} is not an integer`);
  return value;
};

export const bytes = (item: Item, attribute: string): Uint8Array => {
  const value = item[attribute];
  if (!(value instanceof Uint8Array)) throw new Unreadable(item, `${attribute} is not binary`);
  return value;
};

/** A number that is left out when it is 0. */
export const wholeOrZero = (item: Item, attribute: string): number =>
  item[attribute] === undefined ? 0 : whole(item, attribute);

export const list = (item: Item, attribute: string): readonly Value[] => {
  const value = item[attribute];
  if (!Array.isArray(value)) throw new Unreadable(item, `${attribute} is not a list`);
  return value as readonly Value[];
};

export const isMap = (value: Value | undefined): value is { readonly [name: string]: Value | undefined } =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Uint8Array);

export const map = (item: Item, attribute: string): { readonly [name: string]: Value | undefined } => {
  const value = item[attribute];
  if (!isMap(value)) throw new Unreadable(item, `${attribute} is not a map`);
  return value;
};

/** A JSON text of our own writing. */
export const json = (item: Item, attribute: string): unknown => {
  try {
    return JSON.parse(text(item, attribute));
  } catch (error) {
    throw error instanceof Unreadable ? error : new Unreadable(item, `${attribute} is not JSON`);
  }
};
