/** What a step reads and writes: two steps that share no record which one of them writes can be taken in either order. */

/** `everything`: what moves the clock, for instance. A key without `sk` is a whole partition, as a query reads it. */
export type Footprint = "everything" | readonly Touched[];

export interface Touched {
  readonly pk: string;
  readonly sk?: string;
  readonly isWritten: boolean;
}

/** Whether the order of these steps may matter. */
export const conflict = (a: Footprint, b: Footprint): boolean =>
  a === "everything" || b === "everything" || a.some((one) => b.some((other) => meet(one, other)));

const meet = (a: Touched, b: Touched): boolean =>
  (a.isWritten || b.isWritten) && a.pk === b.pk && (a.sk === undefined || b.sk === undefined || a.sk === b.sk);

type Text = { readonly S?: string };
type Keyed = { readonly pk?: Text; readonly sk?: Text };
interface Input {
  readonly Key?: Keyed;
  readonly Item?: Keyed;
  readonly ExpressionAttributeValues?: Readonly<Record<string, Text>>;
  readonly RequestItems?: Readonly<Record<string, { readonly Keys?: readonly Keyed[] }>>;
  readonly TransactItems?: readonly Readonly<Record<string, Input>>[];
}

/** The records of one SDK call. Throws on a call that is not known here: then its order would not be explored rightly. */
export const footprintOf = (operation: string, given: object): Footprint => {
  const input = given as Input;
  switch (operation) {
    case "GetItem":
      return [touched(input.Key, false)];
    case "BatchGetItem":
      return Object.values(input.RequestItems ?? {}).flatMap(({ Keys = [] }) => Keys.map((key) => touched(key, false)));
    case "Query":
      return [{ pk: textOf(input.ExpressionAttributeValues?.[":0"]), isWritten: false }];
    case "PutItem":
      return [touched(input.Item, true)];
    case "UpdateItem":
    case "DeleteItem":
      return [touched(input.Key, true)];
    case "SendMessageBatch":
      return [];
    case "TransactWriteItems":
      return (input.TransactItems ?? []).flatMap((item) =>
        Object.entries(item).map(([kind, write]) => touched(write.Key ?? write.Item, kind !== "ConditionCheck")),
      );
    default:
      throw new Error(`what does ${operation} touch?`);
  }
};

/** A footprint as a line to read. */
export const textOfFootprint = (footprint: Footprint): string =>
  footprint === "everything" ? footprint : footprint.map(({ pk, sk = "*" }) => `${pk} ${sk}`).join(", ");

const touched = (key: Keyed | undefined, isWritten: boolean): Touched => ({
  pk: textOf(key?.pk),
  sk: textOf(key?.sk),
  isWritten,
});

const textOf = (value: Text | undefined): string => {
  if (value?.S === undefined) throw new Error("a call names no record");
  return value.S;
};
