/** The port's DynamoDB form: one command of the SDK each, retries of contention, the receipt. */
import { randomBytes, randomUUID } from "node:crypto";
import {
  type AttributeValue,
  BatchGetItemCommand,
  type CancellationReason,
  ConditionalCheckFailedException,
  DeleteItemCommand,
  type DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  ScanCommand,
  TransactionCanceledException,
  TransactWriteItemsCommand,
} from "@aws-sdk/client-dynamodb";
import { unmarshall } from "@aws-sdk/util-dynamodb";
import type { Item, Key, Write } from "../records/write.ts";
import { mayHaveLanded } from "./client.ts";
import { lostContact, patient } from "./contention.ts";
import { Placeholders, toItem } from "./expression.ts";
import {
  type Commit,
  type Consistency,
  type Failure,
  type Page,
  type Query,
  type ScanPage,
  Unavailable,
  type WholeStore,
} from "./port.ts";
import { Receipt } from "./receipt.ts";
import { keyConditionOf, keyedOf, putOf, transactItemOf, type UpdateWrite, updateCommand } from "./requests.ts";

/** AWS's own bound for one BatchGetItem, and for one TransactWriteItems. */
const KEYS_PER_BATCH = 100;
const WRITES_PER_TRANSACTION = 100;

/** No round of a transaction begins later than this after its first: its token is forgotten after 10 minutes. */
const ROUNDS_MS = 2 * 60_000;

/** A view of one table for the length of one call, with that call's receipt. */
export class DynamoStore implements WholeStore {
  readonly receipt = new Receipt();
  readonly #client: DynamoDBClient;
  readonly #table: string;
  readonly #open = new Set<Promise<unknown>>();

  constructor(client: DynamoDBClient, table: string) {
    this.#client = client;
    this.#table = table;
  }

  /** Resolves when no write that was begun here is open: a process frozen after its answer would go on with it later. */
  async settled(): Promise<void> {
    while (this.#open.size > 0) await Promise.allSettled(this.#open);
  }

  async read(key: Key, consistency: Consistency = "strong"): Promise<Item | undefined> {
    const answer = await lostContact(() =>
      this.#client.send(
        new GetItemCommand({
          TableName: this.#table,
          Key: toItem({ ...key }),
          ConsistentRead: consistency === "strong",
          ReturnConsumedCapacity: "TOTAL",
        }),
      ),
    );
    this.receipt.read(answer.ConsumedCapacity);
    return answer.Item && fromItem(answer.Item);
  }

  async readAll(keys: readonly Key[], consistency: Consistency = "strong"): Promise<readonly (Item | undefined)[]> {
    const [only] = keys;
    if (only !== undefined && keys.length === 1) return [await this.read(only, consistency)];
    const found = new Map<string, Item>();
    for (const batch of chunksOf([...new Map(keys.map((key) => [nameOf(key), key])).values()], KEYS_PER_BATCH)) {
      await this.#readBatch(batch, consistency, found);
    }
    return keys.map((key) => found.get(nameOf(key)));
  }

  async #readBatch(batch: readonly Key[], consistency: Consistency, found: Map<string, Item>): Promise<void> {
    let keys = batch.map((key) => toItem({ ...key }));
    for (let round = 0; keys.length > 0; round++) {
      if (round > 0) await patient(round);
      const answer = await lostContact(() =>
        this.#client.send(
          new BatchGetItemCommand({
            RequestItems: { [this.#table]: { Keys: keys, ConsistentRead: consistency === "strong" } },
            ReturnConsumedCapacity: "TOTAL",
          }),
        ),
      );
      this.receipt.read(answer.ConsumedCapacity);
      for (const raw of answer.Responses?.[this.#table] ?? []) {
        const item = fromItem(raw);
        found.set(nameOf({ pk: String(item.pk), sk: String(item.sk) }), item);
      }
      keys = answer.UnprocessedKeys?.[this.#table]?.Keys ?? [];
    }
  }

  async query(query: Query): Promise<Page> {
    const at = new Placeholders();
    const answer = await lostContact(() =>
      this.#client.send(
        new QueryCommand({
          TableName: this.#table,
          KeyConditionExpression: keyConditionOf(query, at),
          ...at.maps,
          ...(query.limit !== undefined && { Limit: query.limit }),
          ScanIndexForward: query.descending !== true,
          ConsistentRead: (query.consistency ?? "strong") === "strong",
          ReturnConsumedCapacity: "TOTAL",
          ...(query.after !== undefined && { ExclusiveStartKey: toItem({ pk: query.pk, sk: query.after }) }),
        }),
      ),
    );
    this.receipt.read(answer.ConsumedCapacity);
    const next = answer.LastEvaluatedKey?.sk?.S;
    return { items: (answer.Items ?? []).map(fromItem), ...(next !== undefined && { next }) };
  }

  async scan(after?: Key): Promise<ScanPage> {
    const answer = await lostContact(() =>
      this.#client.send(
        new ScanCommand({
          TableName: this.#table,
          ConsistentRead: true,
          ReturnConsumedCapacity: "TOTAL",
          ...(after !== undefined && { ExclusiveStartKey: toItem({ ...after }) }),
        }),
      ),
    );
    this.receipt.read(answer.ConsumedCapacity);
    const { pk, sk } = answer.LastEvaluatedKey ?? {};
    return {
      items: (answer.Items ?? []).map(fromItem),
      ...(pk?.S !== undefined && sk?.S !== undefined && { next: { pk: pk.S, sk: sk.S } }),
    };
  }

  commit(writes: readonly Write[]): Promise<Commit> {
    const names = new Set(writes.map((write) => nameOf(write.key)));
    if (names.size !== writes.length) throw new Error("a commit names each record once");
    if (writes.length > WRITES_PER_TRANSACTION) throw new Error("a commit holds at most 100 writes");
    const [only] = writes;
    if (only === undefined) return Promise.resolve({ done: true });
    return this.#track(writes.length === 1 && !needsToken(only) ? this.#commitOne(only) : this.#commitAll(writes));
  }

  count(write: UpdateWrite): Promise<Item | undefined> {
    return this.#track(this.#count(write));
  }

  #track<T>(work: Promise<T>): Promise<T> {
    this.#open.add(work);
    const done = () => this.#open.delete(work);
    work.then(done, done);
    return work;
  }

  async #count(write: UpdateWrite): Promise<Item | undefined> {
    const outcome = await this.#attempt(() => this.#client.send(updateCommand(this.#table, write, "UPDATED_NEW")));
    if ("refused" in outcome) return undefined;
    this.receipt.wrote(outcome.answer.ConsumedCapacity);
    return fromItem(outcome.answer.Attributes ?? {});
  }

  /** One conditional write. Its stamp `w` tells our own earlier attempt, whose answer was lost, from anyone else's. */
  async #commitOne(write: Write): Promise<Commit> {
    const stamp = randomBytes(6).toString("base64url");
    const outcome = await this.#attempt(() => this.#sendOne(stamped(write, stamp)));
    if (!("refused" in outcome)) {
      this.receipt.wrote(outcome.answer.ConsumedCapacity);
      return { done: true };
    }
    const found = outcome.refused.Item && fromItem(outcome.refused.Item);
    const ours = write.kind === "delete" ? found === undefined : found?.w === stamp;
    if (outcome.repeated && ours) return { done: true };
    return { done: false, failures: [failureOf(write, found)], repeated: outcome.repeated };
  }

  #sendOne(write: Write) {
    switch (write.kind) {
      case "put":
        return this.#client.send(
          new PutItemCommand({
            TableName: this.#table,
            ...putOf(write),
            ReturnConsumedCapacity: "TOTAL",
          }),
        );
      case "update":
        return this.#client.send(updateCommand(this.#table, write, "NONE"));
      case "delete":
        return this.#client.send(
          new DeleteItemCommand({ TableName: this.#table, ...keyedOf(write), ReturnConsumedCapacity: "TOTAL" }),
        );
      case "check":
        throw new Error("a check stands beside other writes");
    }
  }

  /** Runs one single-record command; contention is waited out. `repeated`: an earlier attempt may have landed. */
  async #attempt<T>(
    send: () => Promise<T>,
  ): Promise<{ answer: T } | { refused: ConditionalCheckFailedException; repeated: boolean }> {
    let repeated = false;
    for (let round = 0; ; round++) {
      try {
        return { answer: await lostContact(send) };
      } catch (error) {
        // An attempt whose answer was lost may stand before a conflict as well as before the refusal.
        repeated ||= mayHaveLanded(error);
        if (error instanceof ConditionalCheckFailedException) return { refused: error, repeated };
        if (!isConflict(error)) throw error;
        await patient(round);
      }
    }
  }

  async #commitAll(writes: readonly Write[]): Promise<Commit> {
    const ClientRequestToken = randomUUID();
    const TransactItems = writes.map((write) => transactItemOf(this.#table, write));
    const firstAtMs = Date.now();
    for (let round = 0; ; round++) {
      if (Date.now() - firstAtMs > ROUNDS_MS) throw new Unavailable("the commit was frozen for too long to go on");
      try {
        const answer = await lostContact(() =>
          this.#client.send(
            new TransactWriteItemsCommand({ TransactItems, ClientRequestToken, ReturnConsumedCapacity: "TOTAL" }),
          ),
        );
        this.receipt.wrote(answer.ConsumedCapacity);
        return { done: true };
      } catch (error) {
        if (error instanceof TransactionCanceledException) {
          const failures = failuresOf(writes, error.CancellationReasons ?? []);
          if (failures.length > 0) return { done: false, failures, repeated: false };
        } else if (!isConflict(error)) throw error;
        await patient(round);
      }
    }
  }
}

/**
 * A record that may be deleted is created under a token only: a plain put that the SDK repeats after a lost answer could
 * bring it back when it was used up meanwhile. So is what must be done by this call and no other (`once`).
 */
const needsToken = (write: Write): boolean =>
  write.once === true ||
  (write.kind === "put" && write.require.some((term) => term.is === "absent" || term.is === "absent-or-over"));

const stamped = (write: Write, w: string): Write => {
  if (write.kind === "put") return { ...write, item: { ...write.item, w } };
  if (write.kind === "update") {
    return { ...write, change: { ...write.change, set: [...(write.change.set ?? []), [["w"], w]] } };
  }
  return write;
};

const fromItem = (raw: Record<string, AttributeValue>): Item => unmarshall(raw) as Item;

const nameOf = (key: Key): string => `${key.pk}\n${key.sk}`;

const failureOf = (write: Write, found: Item | undefined): Failure => ({
  write,
  otherwise: write.otherwise,
  ...(found !== undefined && { found }),
});

const contention: readonly string[] = [
  "None",
  "TransactionConflict",
  "ThrottlingError",
  "ProvisionedThroughputExceeded",
];

/** The conditions that failed; none when every reason is contention, which is worth another attempt. */
const failuresOf = (writes: readonly Write[], reasons: readonly CancellationReason[]): readonly Failure[] => {
  const failures: Failure[] = [];
  for (const [i, write] of writes.entries()) {
    const reason = reasons[i];
    if (reason?.Code === "ConditionalCheckFailed") {
      failures.push(
        failureOf(write, reason.Item && Object.keys(reason.Item).length > 0 ? fromItem(reason.Item) : undefined),
      );
    } else if (reason?.Code !== undefined && !contention.includes(reason.Code)) {
      throw new Error(`the table refused a write: ${reason.Code} ${reason.Message ?? ""}`);
    }
  }
  return failures;
};

const isConflict = (error: unknown): boolean =>
  error instanceof Error &&
  (error.name === "TransactionConflictException" || error.name === "TransactionInProgressException");

const chunksOf = <T>(all: readonly T[], size: number): readonly (readonly T[])[] =>
  Array.from({ length: Math.ceil(all.length / size) }, (_, i) => all.slice(i * size, (i + 1) * size));
