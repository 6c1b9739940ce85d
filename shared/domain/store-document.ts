/** A store's status as a JSON document: what `GET /store/status` answers and what is exported. Counters are decimal strings. */
import { parseCounter } from "./counter.ts";
import type { FieldError } from "./refusal.ts";
import type { Member, StoreStatus } from "./store-status.ts";

export const statusDocument = (status: StoreStatus) => ({
  storeId: status.storeId,
  clusterId: status.clusterId,
  changeCounter: String(status.changeCounter),
  configChange: decimal(status.configChange),
  configId: status.configId,
  changeCounterAtConfigChange: decimal(status.changeCounterAtConfigChange),
  role: status.role,
  state: status.state,
  shutdownId: status.shutdownId,
  changeCounterAtShutdown: decimal(status.changeCounterAtShutdown),
  members: status.members.map(memberDocument),
  readAt: status.readAt,
});

/** A member as JSON: `told` is a decimal string, what is not known is left out. */
export const memberDocument = ({ told, ...member }: Member) => ({
  ...member,
  ...(told !== undefined && { told: String(told) }),
});

const decimal = (counter: bigint | null): string | null => (counter === null ? null : String(counter));

/**
 * The status that a document says, or all that is wrong with it. What decides must be there (null where it does not apply);
 * `role`, `members` and `readAt` may be missing, and what is not known is passed over.
 */
export const parseStatus = (
  document: unknown,
): { readonly status: StoreStatus } | { readonly errors: readonly FieldError[] } => {
  if (!isObject(document)) return { errors: [{ path: "", message: "must be a status document, a JSON object" }] };
  const read = new Fields(document, "");
  const status: StoreStatus = {
    storeId: read.nullable("storeId", id),
    clusterId: read.nullable("clusterId", id),
    changeCounter: read.required("changeCounter", counter) ?? 0n,
    configChange: read.nullable("configChange", counter),
    configId: read.nullable("configId", id),
    changeCounterAtConfigChange: read.nullable("changeCounterAtConfigChange", counter),
    role: read.optional("role", oneOf("primary", "replica")) ?? "primary",
    state: read.required("state", oneOf("empty", "dirty", "clean")) ?? "dirty",
    shutdownId: read.nullable("shutdownId", id),
    changeCounterAtShutdown: read.nullable("changeCounterAtShutdown", counter),
    members: read.list("members", member),
    readAt: read.optional("readAt", instant) ?? "",
  };
  const errors = [...read.errors, ...(read.errors.length === 0 ? contradictions(status) : [])];
  return errors.length > 0 ? { errors } : { status };
};

/** Members from a list of JSON, or all that is wrong with it; paths begin with `members`. */
export const parseMembers = (
  members: unknown,
): { readonly members: readonly Member[] } | { readonly errors: readonly FieldError[] } => {
  const read = new Fields({ members }, "");
  const found = read.list("members", member);
  return read.errors.length > 0 ? { errors: read.errors } : { members: found };
};

/**
 * A store is in a cluster with the pair that belongs to it, or in none; so with its shutdown. `configId` may be null: then
 * it differs from every id.
 */
const contradictions = (status: StoreStatus): readonly FieldError[] => [
  ...together(status, ["clusterId", "configChange", "changeCounterAtConfigChange"]),
  ...together(status, ["shutdownId", "changeCounterAtShutdown"]),
  ...(status.state === "clean" && status.shutdownId === null
    ? [{ path: "shutdownId", message: "must be given, because the state is clean" }]
    : []),
  ...(status.state === "empty" && status.clusterId !== null
    ? [{ path: "state", message: "is empty, which a store of a cluster is not" }]
    : []),
];

const together = (status: StoreStatus, fields: readonly (keyof StoreStatus)[]): readonly FieldError[] => {
  const missing = fields.filter((field) => status[field] === null);
  if (missing.length === 0 || missing.length === fields.length) return [];
  const given = fields.filter((field) => status[field] !== null).join(", ");
  return missing.map((path) => ({ path, message: `is null, but ${given} is not` }));
};

/** What a field must be, in words, and its value or undefined. */
interface Kind<T> {
  readonly words: string;
  readonly parse: (value: unknown) => T | undefined;
}

const id: Kind<string> = {
  words: "a text of 1 to 255 characters",
  parse: (value) => (typeof value === "string" && value.length > 0 && value.length <= 255 ? value : undefined),
};

const counter: Kind<bigint> = {
  words: "a decimal string from 0 to 18446744073709551615",
  parse: (value) => (typeof value === "string" ? parseCounter(value) : undefined),
};

const instant: Kind<string> = {
  words: "a time in ISO 8601",
  parse: (value) => (typeof value === "string" && !Number.isNaN(Date.parse(value)) ? value : undefined),
};

const oneOf = <T extends string>(...words: readonly T[]): Kind<T> => ({
  words: `one of ${words.join(", ")}`,
  parse: (value) => words.find((word) => word === value),
});

/** Reads the fields of one object and collects what is wrong with them. */
class Fields {
  readonly errors: FieldError[] = [];
  readonly #object: Readonly<Record<string, unknown>>;
  readonly #path: string;

  constructor(object: Readonly<Record<string, unknown>>, path: string) {
    this.#object = object;
    this.#path = path;
  }

  required<T>(field: string, kind: Kind<T>): T | undefined {
    const value = kind.parse(this.#object[field]);
    if (value === undefined) this.fail(field, kind.words);
    return value;
  }

  nullable<T>(field: string, kind: Kind<T>): T | null {
    if (this.#object[field] === null) return null;
    const value = kind.parse(this.#object[field]);
    if (value === undefined) this.fail(field, `${kind.words}, or null`);
    return value ?? null;
  }

  optional<T>(field: string, kind: Kind<T>): T | undefined {
    return this.#object[field] === undefined ? undefined : this.required(field, kind);
  }

  /** A list of objects; missing, it is empty. */
  list<T>(field: string, parse: (read: Fields) => T): readonly T[] {
    const values = this.#object[field] ?? [];
    if (!Array.isArray(values)) {
      this.fail(field, "a list");
      return [];
    }
    return values.flatMap((value: unknown, i) => {
      const path = `${this.#path}${field}[${i}]`;
      if (!isObject(value)) {
        this.errors.push({ path, message: "must be an object" });
        return [];
      }
      const inner = new Fields(value, `${path}.`);
      const parsed = parse(inner);
      this.errors.push(...inner.errors);
      return [parsed];
    });
  }

  fail(field: string, words: string): void {
    const problem = this.#object[field] === undefined ? "is missing: it must be" : "must be";
    this.errors.push({ path: `${this.#path}${field}`, message: `${problem} ${words}` });
  }
}

const member = (read: Fields): Member => {
  const [endpoint, region, told] = [
    read.optional("endpoint", id),
    read.optional("region", id),
    read.optional("told", counter),
  ];
  return {
    storeId: read.required("storeId", id) ?? "",
    table: read.required("table", id) ?? "",
    ...(endpoint !== undefined && { endpoint }),
    ...(region !== undefined && { region }),
    role: read.required("role", oneOf("primary", "replica")) ?? "replica",
    state: read.required("state", oneOf("in-sync", "joining", "away")) ?? "away",
    ...(told !== undefined && { told }),
  };
};

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
