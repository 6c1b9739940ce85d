/** What a write and a query become in requests of the SDK. */
import { type TransactWriteItem, UpdateItemCommand } from "@aws-sdk/client-dynamodb";
import type { Write } from "../records/write.ts";
import { conditionOf, Placeholders, toItem, updateOf } from "./expression.ts";
import type { Query } from "./port.ts";

export type UpdateWrite = Extract<Write, { kind: "update" }>;

/** One write of a transaction. */
export const transactItemOf = (TableName: string, write: Write): TransactWriteItem => {
  switch (write.kind) {
    case "put":
      return { Put: { TableName, ...putOf(write) } };
    case "update":
      return { Update: { TableName, ...updateParts(write) } };
    case "delete":
      return { Delete: { TableName, ...keyedOf(write) } };
    case "check": {
      const { ConditionExpression = "", ...rest } = keyedOf(write);
      return { ConditionCheck: { TableName, ConditionExpression, ...rest } };
    }
  }
};

const onFailure = { ReturnValuesOnConditionCheckFailure: "ALL_OLD" } as const;

const conditionPart = (
  write: Write,
  at: Placeholders,
): { ConditionExpression?: string } & Partial<typeof onFailure> => {
  const ConditionExpression = conditionOf(write.require, at);
  return ConditionExpression === undefined ? {} : { ConditionExpression, ...onFailure };
};

/** The record of a put, with its condition. */
export const putOf = (write: Extract<Write, { kind: "put" }>) => {
  const at = new Placeholders();
  return { Item: toItem({ ...write.item, ...write.key }), ...conditionPart(write, at), ...at.maps };
};

/** The key of any other write, with its condition. */
export const keyedOf = (write: Write) => {
  const at = new Placeholders();
  return { Key: toItem({ ...write.key }), ...conditionPart(write, at), ...at.maps };
};

const updateParts = (write: UpdateWrite) => {
  const at = new Placeholders();
  const UpdateExpression = updateOf(write.change, at);
  return { Key: toItem({ ...write.key }), UpdateExpression, ...conditionPart(write, at), ...at.maps };
};

/** One update in no transaction; `ReturnValues`: what it answers of the record. */
export const updateCommand = (TableName: string, write: UpdateWrite, ReturnValues: "NONE" | "UPDATED_NEW") =>
  new UpdateItemCommand({ TableName, ...updateParts(write), ReturnValues, ReturnConsumedCapacity: "TOTAL" });

/** Which records of a partition a query asks for. */
export const keyConditionOf = (query: Query, at: Placeholders): string => {
  const pk = `${at.path(["pk"])} = ${at.value(query.pk)}`;
  const sk = () => at.path(["sk"]);
  if (query.beginsWith !== undefined) return `${pk} AND begins_with(${sk()}, ${at.value(query.beginsWith)})`;
  if (query.from !== undefined && query.to !== undefined) {
    return `${pk} AND ${sk()} BETWEEN ${at.value(query.from)} AND ${at.value(query.to)}`;
  }
  if (query.from !== undefined) return `${pk} AND ${sk()} >= ${at.value(query.from)}`;
  if (query.to !== undefined) return `${pk} AND ${sk()} <= ${at.value(query.to)}`;
  return pk;
};
