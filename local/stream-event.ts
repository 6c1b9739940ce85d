import type { _Record as StreamRecord } from "@aws-sdk/client-dynamodb-streams";

/** The event that Lambda makes of changes: JSON, in which binary is base64 and times are seconds. */
export function streamEvent(streamArn: string, records: readonly StreamRecord[]): object {
  return {
    Records: records.map(({ dynamodb = {}, ...record }) => ({
      ...record,
      eventSourceARN: streamArn,
      dynamodb: {
        ...dynamodb,
        ApproximateCreationDateTime: Math.floor((dynamodb.ApproximateCreationDateTime?.getTime() ?? 0) / 1_000),
        ...(dynamodb.Keys && { Keys: encoded(dynamodb.Keys) }),
        ...(dynamodb.NewImage && { NewImage: encoded(dynamodb.NewImage) }),
        ...(dynamodb.OldImage && { OldImage: encoded(dynamodb.OldImage) }),
      },
    })),
  };
}

function encoded(value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString("base64");
  if (Array.isArray(value)) return value.map(encoded);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).flatMap(([k, v]) => (v === undefined ? [] : [[k, encoded(v)]])));
}
