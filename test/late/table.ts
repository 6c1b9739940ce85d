/** The whole table at one moment, and what changed in it since. */
import { type AttributeValue, ScanCommand } from "@aws-sdk/client-dynamodb";
import type { InProcessService } from "../support/in-process.ts";

/** Every record by its key, each attribute as text that is equal when the attribute is equal byte for byte. */
export type Snapshot = ReadonlyMap<string, ReadonlyMap<string, string>>;

export const snapshotOf = async ({ table, tableName }: InProcessService): Promise<Snapshot> => {
  const records = new Map<string, ReadonlyMap<string, string>>();
  let after: Record<string, AttributeValue> | undefined;
  do {
    const page = await table.send(
      new ScanCommand({ TableName: tableName, ConsistentRead: true, ExclusiveStartKey: after }),
    );
    for (const item of page.Items ?? []) {
      records.set(`${item.pk?.S} / ${item.sk?.S}`, new Map(Object.entries(item).map(([name, v]) => [name, textOf(v)])));
    }
    after = page.LastEvaluatedKey;
  } while (after !== undefined);
  return records;
};

/** A map's fields have no order of their own. */
const textOf = (value: AttributeValue): string =>
  JSON.stringify(value, (_, inner: unknown) => {
    if (inner instanceof Uint8Array) return Buffer.from(inner).toString("hex");
    const isMap = typeof inner === "object" && inner !== null && !Array.isArray(inner);
    return isMap ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1))) : inner;
  });

/** Each record that is new, gone or different, in words. */
export const changesBetween = (before: Snapshot, after: Snapshot): readonly string[] =>
  [...new Set([...before.keys(), ...after.keys()])].sort().flatMap((key) => {
    const [old, now] = [before.get(key), after.get(key)];
    if (old === undefined) return [`${key} is new`];
    if (now === undefined) return [`${key} is gone`];
    const attributes = changedIn(old, now);
    return attributes.length === 0 ? [] : [`${key} has another ${attributes.join(", ")}`];
  });

/**
 * The same, but for cumulative counters that ran ahead: a change is counted at its tail before it is made, so an attempt
 * that makes none may leave a number that is higher.
 */
export const changesButCounters = (before: Snapshot, after: Snapshot): readonly string[] =>
  changesBetween(
    before,
    new Map([...after].map(([key, record]) => [key, ranAhead(key, before.get(key), record) ?? record])),
  );

const counters: readonly string[] = ["next", "settled", "dead"];

const ranAhead = (
  key: string,
  old: ReadonlyMap<string, string> | undefined,
  now: ReadonlyMap<string, string>,
): ReadonlyMap<string, string> | undefined => {
  if (!key.startsWith("TAIL#") || old === undefined) return undefined;
  const isAhead = changedIn(old, now).every(
    (name) => counters.includes(name) && numberIn(old, name) < numberIn(now, name),
  );
  return isAhead ? old : undefined;
};

const numberIn = (record: ReadonlyMap<string, string>, name: string): number =>
  Number((JSON.parse(record.get(name) ?? "{}") as { N?: string }).N);

const changedIn = (old: ReadonlyMap<string, string>, now: ReadonlyMap<string, string>): readonly string[] =>
  [...new Set([...old.keys(), ...now.keys()])].filter((name) => old.get(name) !== now.get(name));
