/** A table's stream, in the form in which events bring it: JSON, binary as base64. */
import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import { unmarshall } from "@aws-sdk/util-dynamodb";
import type { Item } from "../records/write.ts";

/** One change of the stream; whoever gets the event checks no more of it. */
export interface StreamRecord {
  readonly eventName?: "INSERT" | "MODIFY" | "REMOVE" | undefined;
  readonly dynamodb?: { readonly NewImage?: { readonly [attribute: string]: unknown } | undefined } | undefined;
}

/**
 * The records as changes left them, in order. A removal tells nothing: what a commit deletes is told by its stones, and
 * what time takes is taken wherever it lies.
 */
export const imagesOf = (records: readonly StreamRecord[]): readonly Item[] =>
  records.flatMap(({ eventName, dynamodb }) => {
    const image = dynamodb?.NewImage;
    return eventName === "REMOVE" || image === undefined ? [] : [unmarshall(decoded(image)) as Item];
  });

const decoded = (image: { readonly [attribute: string]: unknown }): Record<string, AttributeValue> =>
  Object.fromEntries(Object.entries(image).map(([name, value]) => [name, decodedValue(value as AttributeValue)]));

const decodedValue = (value: AttributeValue): AttributeValue => {
  if (value.B !== undefined) return { B: new Uint8Array(Buffer.from(value.B as unknown as string, "base64")) };
  if (value.L !== undefined) return { L: value.L.map(decodedValue) };
  if (value.M !== undefined) return { M: decoded(value.M) };
  return value;
};
