import { unmarshall } from "@aws-sdk/util-dynamodb";
import type { Item, Key } from "../../shared/records/write.ts";
import { toItem } from "../../shared/store/expression.ts";

/** The item as it comes back from the table: through the store's own form of it and back. */
export const stored = (key: Key, item: Item): Item => unmarshall(toItem({ ...item, ...key })) as Item;

/** Bytes of any make as plain arrays, so that equality speaks of what is in them. */
export const plain = <T>(value: T): unknown =>
  JSON.parse(JSON.stringify(value, (_, part) => (part instanceof Uint8Array ? [...part] : part)));
