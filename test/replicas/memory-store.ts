/** A table in memory, for what is tried a thousand times: the same conditions and changes as the real one. */

import { changed } from "../../shared/records/changed.ts";
import { isMap } from "../../shared/records/reading.ts";
import type { Item, Key, Path, Term, Value, Write } from "../../shared/records/write.ts";
import type { Commit, Failure, Page, Query, ScanPage, WholeStore } from "../../shared/store/port.ts";

const PAGE = 40;

export class MemoryStore implements WholeStore {
  readonly #items: Map<string, Item>;

  constructor(items: readonly Item[] = []) {
    this.#items = new Map(items.map((item) => [nameOf(keyOf(item)), item]));
  }

  get items(): readonly Item[] {
    return [...this.#items].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, item]) => item);
  }

  async read(key: Key): Promise<Item | undefined> {
    return this.#items.get(nameOf(key));
  }

  async readAll(keys: readonly Key[]): Promise<readonly (Item | undefined)[]> {
    return keys.map((key) => this.#items.get(nameOf(key)));
  }

  async query({ pk, from, after, to, beginsWith, limit, descending }: Query): Promise<Page> {
    const found = this.items.filter((item) => {
      const sk = String(item.sk);
      return (
        item.pk === pk &&
        (from === undefined || sk >= from) &&
        (after === undefined || (descending === true ? sk < after : sk > after)) &&
        (to === undefined || sk <= to) &&
        (beginsWith === undefined || sk.startsWith(beginsWith))
      );
    });
    if (descending === true) found.reverse();
    const items = found.slice(0, limit);
    const last = items.at(-1);
    return { items, ...(items.length < found.length && last !== undefined && { next: String(last.sk) }) };
  }

  async commit(writes: readonly Write[]): Promise<Commit> {
    const names = new Set(writes.map(({ key }) => nameOf(key)));
    if (names.size < writes.length || writes.length > 100) throw new Error("a record twice, or more than 100");
    const failures = writes.flatMap((write): Failure[] => {
      const found = this.#items.get(nameOf(write.key));
      if (write.require.every((term) => holds(term, found))) return [];
      return [{ write, otherwise: write.otherwise, ...(found !== undefined && { found }) }];
    });
    if (failures.length > 0) return { done: false, failures, repeated: false };
    for (const write of writes) this.#make(write);
    return { done: true };
  }

  async count(write: Extract<Write, { kind: "update" }>): Promise<Item | undefined> {
    return (await this.commit([write])).done ? this.#items.get(nameOf(write.key)) : undefined;
  }

  async scan(after?: Key): Promise<ScanPage> {
    const all = this.items;
    const at = after === undefined ? 0 : all.findIndex((item) => nameOf(keyOf(item)) > nameOf(after));
    const items = at === -1 ? [] : all.slice(at, at + PAGE);
    const last = items.at(-1);
    return { items, ...(last !== undefined && items.length === PAGE && { next: keyOf(last) }) };
  }

  #make(write: Write): void {
    const name = nameOf(write.key);
    if (write.kind === "put") this.#items.set(name, defined({ ...write.item, ...write.key }));
    else if (write.kind === "delete") this.#items.delete(name);
    else if (write.kind === "update") {
      this.#items.set(name, defined(changed(this.#items.get(name) ?? { ...write.key }, write.change)));
    }
  }
}

export const keyOf = ({ pk, sk }: Item): Key => ({ pk: String(pk), sk: String(sk) });

export const nameOf = ({ pk, sk }: Key): string => `${pk}\n${sk}`;

/** What has no value is not stored. */
const defined = (item: Item): Item =>
  Object.fromEntries(
    Object.entries(item).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, isMap(value) ? defined(value as Item) : value]],
    ),
  );

const at = (item: Item | undefined, path: Path): Value | undefined => {
  let value: Value | undefined = item;
  for (const name of path) value = isMap(value) ? (value as Item)[name] : undefined;
  return value;
};

const number = (item: Item | undefined, path: Path): number => {
  const value = at(item, path);
  return typeof value === "number" ? value : Number.NaN;
};

const holds = (term: Term, item: Item | undefined): boolean => {
  switch (term.is) {
    case "absent":
      return item === undefined;
    case "present":
      return item !== undefined;
    case "version":
      return item?.v === term.version;
    case "equal":
      return at(item, term.path) === term.value;
    case "not-equal":
      return at(item, term.path) !== term.value;
    case "has":
      return at(item, term.path) !== undefined;
    case "lacks":
      return at(item, term.path) === undefined;
    case "at-least":
      return number(item, term.path) >= term.value;
    case "more-than":
      return number(item, term.path) > term.value;
    case "at-most":
      return number(item, term.path) <= term.value;
    case "absent-or-over":
      return item === undefined || number(item, ["until"]) <= term.nowMs;
    case "older":
      return item?.rv === undefined || number(item, ["rv"]) < term.stamp;
  }
};
