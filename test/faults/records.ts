/** All records of a table: read, taken away, put back, and read as they once were. */
import {
  type AttributeValue,
  BatchGetItemCommand,
  type DynamoDBClient,
  GetItemCommand,
  QueryCommand,
  ScanCommand,
  type TransactWriteItem,
  TransactWriteItemsCommand,
} from "@aws-sdk/client-dynamodb";
import { table as names } from "../../cdk/table.ts";

export type StoredRecord = Readonly<Record<string, AttributeValue>>;

/** As many as one transaction takes, in items and, with bodies of this size, in bytes. */
const AT_ONCE = 50;

export const recordsOf = async (client: DynamoDBClient, table: string): Promise<readonly StoredRecord[]> => {
  const records: StoredRecord[] = [];
  let after: Record<string, AttributeValue> | undefined;
  do {
    const page = await client.send(
      new ScanCommand({ TableName: table, ConsistentRead: true, ExclusiveStartKey: after }),
    );
    records.push(...(page.Items ?? []));
    after = page.LastEvaluatedKey;
  } while (after !== undefined);
  return records;
};

/** Makes a table hold these records and no others. `known`: what it holds now. */
export const restore = async (
  client: DynamoDBClient,
  table: string,
  records: readonly StoredRecord[],
  known?: readonly StoredRecord[],
): Promise<void> => {
  const kept = new Set(records.map(keyOf));
  const found = known ?? (await recordsOf(client, table));
  const same = new Set(found.map(textOfRecord));
  await remove(
    client,
    table,
    found.filter((record) => !kept.has(keyOf(record))),
  );
  await writeAll(
    client,
    records
      .filter((record) => !same.has(textOfRecord(record)))
      .map((record) => ({ Put: { TableName: table, Item: record } })),
  );
};

export const remove = (client: DynamoDBClient, table: string, records: readonly StoredRecord[]): Promise<void> =>
  writeAll(
    client,
    records.map((record) => ({ Delete: { TableName: table, Key: keyAttributes(record) } })),
  );

const writeAll = async (client: DynamoDBClient, items: readonly TransactWriteItem[]): Promise<void> => {
  for (let i = 0; i < items.length; i += AT_ONCE) {
    await client.send(new TransactWriteItemsCommand({ TransactItems: items.slice(i, i + AT_ONCE) }));
  }
};

/** `<pk> / <sk>` */
export const keyOf = (record: StoredRecord): string => `${record[names.partitionKey]?.S} / ${record[names.sortKey]?.S}`;

const keyAttributes = (record: StoredRecord): Record<string, AttributeValue> =>
  Object.fromEntries(
    [names.partitionKey, names.sortKey].flatMap((name) => {
      const value = record[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );

/** A record as text that is equal when the record is: a map's fields have no order of their own. */
export const textOfRecord = (record: StoredRecord): string => {
  const known = texts.get(record);
  if (known !== undefined) return known;
  const text = textFor(record);
  texts.set(record, text);
  return text;
};

const texts = new WeakMap<StoredRecord, string>();

const textFor = (record: StoredRecord): string =>
  `${keyOf(record)} ${JSON.stringify(record, (_, inner: unknown) => {
    if (inner instanceof Uint8Array) return Buffer.from(inner).toString("latin1");
    const isMap = typeof inner === "object" && inner !== null && !Array.isArray(inner);
    return isMap ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1))) : inner;
  })}`;

/** Whether the record's time to live has ended. */
export const isEnded = (record: StoredRecord, nowMs: number): boolean => {
  const ttl = record[names.timeToLiveAttribute]?.N;
  return ttl !== undefined && Number(ttl) * 1000 <= nowMs;
};

export const hasTimeToLive = (record: StoredRecord): boolean => record[names.timeToLiveAttribute] !== undefined;

/** The partition keys that a read looks at. */
const partitionsReadBy = (operation: string, input: object): ReadonlySet<string> => {
  const { Key, RequestItems, ExpressionAttributeValues } = input as {
    Key?: Record<string, AttributeValue>;
    RequestItems?: Record<string, { Keys?: readonly Record<string, AttributeValue>[] }>;
    ExpressionAttributeValues?: Record<string, AttributeValue>;
  };
  if (operation === "GetItem") return textsOf([Key?.[names.partitionKey]]);
  if (operation === "BatchGetItem") {
    return textsOf(
      Object.values(RequestItems ?? {}).flatMap(({ Keys = [] }) => Keys.map((key) => key[names.partitionKey])),
    );
  }
  return textsOf(Object.values(ExpressionAttributeValues ?? {}));
};

const textsOf = (values: readonly (AttributeValue | undefined)[]): ReadonlySet<string> =>
  new Set(values.flatMap((value) => (value?.S === undefined ? [] : [value.S])));

/** What a read looks at, in the latest of these states in which it was another than in the last one. */
export const seenBefore = (
  operation: string,
  input: object,
  states: readonly (readonly StoredRecord[])[],
): readonly StoredRecord[] => {
  const partitions = partitionsReadBy(operation, input);
  const part = (state: readonly StoredRecord[] = []) =>
    state.filter((record) => partitions.has(record[names.partitionKey]?.S ?? ""));
  const now = JSON.stringify(part(states.at(-1)).map(textOfRecord).sort());
  const before = states.findLast((state) => JSON.stringify(part(state).map(textOfRecord).sort()) !== now);
  return part(before);
};

/** The same read, of another table; answered as if it were of the first. */
export const readElsewhere = async (
  client: DynamoDBClient,
  operation: string,
  input: object,
  table: string,
): Promise<object> => {
  if (operation === "GetItem") {
    const { Key } = input as { Key: Record<string, AttributeValue> };
    return client.send(new GetItemCommand({ ...input, Key, TableName: table }));
  }
  if (operation === "Query") return client.send(new QueryCommand({ ...input, TableName: table }));
  if (operation !== "BatchGetItem") throw new Error(`no reading of ${operation}`);
  const { RequestItems } = input as {
    RequestItems: Record<string, { Keys: Record<string, AttributeValue>[] }>;
  };
  const [[name, keys] = []] = Object.entries(RequestItems);
  if (name === undefined || keys === undefined) throw new Error("a batch reads of one table");
  const answer = await client.send(new BatchGetItemCommand({ ...input, RequestItems: { [table]: keys } }));
  return { ...answer, Responses: { [name]: answer.Responses?.[table] ?? [] }, UnprocessedKeys: {} };
};
