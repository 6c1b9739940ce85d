/**
 * A write is data: what happens to one record, what must hold for it, and what it means when that does not hold.
 * One command commits a list of them at once (`shared/store/port.ts`); the conditions become expressions in one place
 * (`shared/store/expression.ts`).
 */
import type { Refusal } from "../domain/refusal.ts";

export type Value =
  | string
  | number
  | boolean
  | null
  | Uint8Array
  | readonly Value[]
  | { readonly [name: string]: Value | undefined };

/** A record as it lies in the table; attributes are short because they are billed. `pk` and `sk` are its key. */
export interface Item {
  readonly [attribute: string]: Value | undefined;
}

export interface Key {
  readonly pk: string;
  readonly sk: string;
}

/** A path into an item: the attribute, then names inside maps. */
export type Path = readonly [string, ...string[]];

/** A condition's terms are and-ed; each speaks of the record as it is before the write. */
export type Term =
  | { readonly is: "absent" }
  | { readonly is: "present" }
  | { readonly is: "version"; readonly version: number }
  | { readonly is: "equal"; readonly path: Path; readonly value: Value }
  | { readonly is: "not-equal"; readonly path: Path; readonly value: Value }
  | { readonly is: "has"; readonly path: Path }
  | { readonly is: "lacks"; readonly path: Path }
  | { readonly is: "at-least"; readonly path: Path; readonly value: number }
  | { readonly is: "more-than"; readonly path: Path; readonly value: number }
  | { readonly is: "at-most"; readonly path: Path; readonly value: number }
  /** There is no record, or its `until` (ms) is not after `nowMs`: TTL deletes late, so absence alone says too little. */
  | { readonly is: "absent-or-over"; readonly nowMs: number }
  /** Among replicas: there is no record, or its version `rv` is below this one. */
  | { readonly is: "older"; readonly stamp: number };

/** Changes to single attributes of a record, without knowing the others. */
export interface Change {
  readonly set?: readonly (readonly [Path, Value])[];
  readonly add?: readonly (readonly [Path, number])[];
  readonly append?: readonly (readonly [Path, readonly Value[]])[];
  readonly remove?: readonly Path[];
}

/**
 * What a failed condition means to the command: a refusal to answer, or `reload`: the record is not as it was read,
 * decide again from what is there.
 */
export type Otherwise = Refusal | "reload";

interface Conditional {
  readonly key: Key;
  readonly require: readonly Term[];
  readonly otherwise: Otherwise;
  /** Another's write of the same effect must not be taken for it, not even after a lost answer: it costs twice as much. */
  readonly once?: true;
}

export type Write =
  | (Conditional & { readonly kind: "put"; readonly item: Item })
  | (Conditional & { readonly kind: "update"; readonly change: Change })
  | (Conditional & { readonly kind: "delete" })
  | (Conditional & { readonly kind: "check" });

export const absent: Term = { is: "absent" };
export const present: Term = { is: "present" };
export const atVersion = (version: number): Term => ({ is: "version", version });
