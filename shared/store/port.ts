/** The port to the table: everything a command may ask of it. Its DynamoDB form: `dynamodb.ts`. */
import type { Item, Key, Otherwise, Write } from "../records/write.ts";

/** Strong reads see every completed write; eventual ones cost half and may be late. */
export type Consistency = "strong" | "eventual";

export interface Query {
  readonly pk: string;
  /** Sort keys from here on, or only after it. */
  readonly from?: string;
  readonly after?: string;
  /** Sort keys up to and including this one. */
  readonly to?: string;
  /** Sort keys that begin so; alone, without `from` and `to`. */
  readonly beginsWith?: string;
  readonly limit?: number;
  readonly descending?: boolean;
  readonly consistency?: Consistency;
}

export interface Page {
  readonly items: readonly Item[];
  /** The last sort key looked at, when there may be more behind it. */
  readonly next?: string;
}

/** One write of a commit whose condition did not hold; `found` is the record in its place, if there is one. */
export interface Failure {
  readonly write: Write;
  readonly otherwise: Otherwise;
  readonly found?: Item;
}

export type Commit =
  | { readonly done: true }
  | {
      readonly done: false;
      readonly failures: readonly Failure[];
      /** An attempt of ours may have landed before this one failed, and its record been changed again since. */
      readonly repeated: boolean;
    };

export interface Store {
  read(key: Key, consistency?: Consistency): Promise<Item | undefined>;
  /** In the order of the keys; any number of them. */
  readAll(keys: readonly Key[], consistency?: Consistency): Promise<readonly (Item | undefined)[]>;
  query(query: Query): Promise<Page>;
  /**
   * All of the writes or none. Names each record once (throws otherwise) and at most 100. Contention is retried inside;
   * past its budget, and on lost I/O, it throws `Unavailable`. A write that landed although its answer was lost is done.
   */
  commit(writes: readonly Write[]): Promise<Commit>;
  /**
   * A counting update of one record, in no transaction; the counters it changed as they are then, or undefined when
   * its condition did not hold. A lost answer may count twice: only for counters that may run ahead.
   */
  count(write: Extract<Write, { kind: "update" }>): Promise<Item | undefined>;
}

/** A page of all records there are, in no order; `next` is given back to go on. */
export interface ScanPage {
  readonly items: readonly Item[];
  readonly next?: Key;
}

/** A table that is read as a whole, as only a full copy and a promotion do. */
export interface WholeStore extends Store {
  scan(after?: Key): Promise<ScanPage>;
}

export { Unavailable } from "../domain/unavailable.ts";
