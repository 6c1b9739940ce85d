import type { Item, Key, Write } from "../../records/write.ts";
import type { Commit, Consistency, Page, Query, Store } from "../../store/port.ts";

/** Another attempt at the same thing was first: what this one would have written was written by that one. */
export class Superseded extends Error {
  override readonly name = "Superseded";
}

/** A store whose commits throw `Superseded` when the record that guards them is not as they require. */
export class GuardedStore implements Store {
  readonly #store: Store;
  readonly #guard: Key;
  readonly #landed = new Set<Write>();

  constructor(store: Store, guard: Key) {
    this.#store = store;
    this.#guard = guard;
  }

  /** The guard went with a commit of ours. */
  get isClosed(): boolean {
    return [...this.#landed].some(({ kind }) => kind === "delete");
  }

  /** Something was noted in the guard by a commit of ours. */
  get isNoted(): boolean {
    return [...this.#landed].some(({ kind }) => kind === "update");
  }

  /** Whether this write, of the guard, is in the table. */
  has(write: Write): boolean {
    return this.#landed.has(write);
  }

  read(key: Key, consistency?: Consistency): Promise<Item | undefined> {
    return this.#store.read(key, consistency);
  }

  readAll(keys: readonly Key[], consistency?: Consistency): Promise<readonly (Item | undefined)[]> {
    return this.#store.readAll(keys, consistency);
  }

  query(query: Query): Promise<Page> {
    return this.#store.query(query);
  }

  count(write: Extract<Write, { kind: "update" }>): Promise<Item | undefined> {
    return this.#store.count(write);
  }

  async commit(writes: readonly Write[]): Promise<Commit> {
    const commit = await this.#store.commit(writes);
    if (!commit.done && commit.failures.some(({ write: { key } }) => isSame(key, this.#guard))) {
      throw new Superseded(`${this.#guard.sk} was done by another attempt`);
    }
    if (commit.done) {
      for (const write of writes) if (isSame(write.key, this.#guard)) this.#landed.add(write);
    }
    return commit;
  }
}

const isSame = (a: Key, b: Key): boolean => a.pk === b.pk && a.sk === b.sk;
