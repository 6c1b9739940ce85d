/**
 * A primary whose table's stream feeds replicas. It gives every record that it writes a version, and knows what a replica
 * must show before the call may be answered. Three things are there before others, on the replica too:
 * - the bodies before the record that names them;
 * - the journal of a commit of several records before that commit, so that no part of it comes to a replica that could
 *   not finish it;
 * - what replaces a body before that body is deleted.
 */
import { randomBytes } from "node:crypto";
import { completionPrefix, storeKey } from "../../records/keys.ts";
import {
  commitOf,
  journalKey,
  type Mark,
  putJournal,
  stampOf,
  stoneKey,
  stonePrefix,
  stonesPrefix,
} from "../../records/replication.ts";
import type { Item, Key, Write } from "../../records/write.ts";
import type { Commit, Consistency, Failure, Page, Query, Store } from "../port.ts";
import { Unavailable } from "../port.ts";
import { meetStamp, nextStamp } from "./clock.ts";
import { isMadeAgain, type Marked, marked } from "./marked.ts";
import type { Cluster, Expected } from "./port.ts";
import { untilShown } from "./until-shown.ts";

/** Each fails only on a newer version than the one before; more of them are no chance. */
const STAMP_ATTEMPTS = 8;

type UpdateWrite = Extract<Write, { kind: "update" }>;

/** A view of the table for the length of one call. */
export class ReplicatedStore implements Store {
  readonly #table: Store;
  readonly #cluster: Cluster;
  readonly #stopAtMs: number;
  #begun: Promise<void> | undefined;
  /** By record: the last commit of several records that its image came from. */
  readonly #commits = new Map<string, string>();
  /** What was written, and what was read as one record: an answer rests on it. */
  readonly #written = new Map<string, Expected>();
  readonly #rested = new Map<string, Expected>();
  readonly #bodies = new Map<string, Expected>();

  constructor(table: Store, cluster: Cluster, stopAtMs: number) {
    this.#table = table;
    this.#cluster = cluster;
    this.#stopAtMs = stopAtMs;
  }

  async read(key: Key, consistency?: Consistency): Promise<Item | undefined> {
    return this.#rest(await this.#table.read(key, consistency));
  }

  async readAll(keys: readonly Key[], consistency?: Consistency): Promise<readonly (Item | undefined)[]> {
    return (await this.#table.readAll(keys, consistency)).map((item) => this.#rest(item));
  }

  async query(query: Query): Promise<Page> {
    const page = await this.#table.query(query);
    for (const item of page.items) {
      // The record of a commit is enough of it: with that the whole commit will be there after a promotion.
      if (String(item.sk).startsWith(completionPrefix)) this.#rest(item);
      else this.#meet(item);
    }
    return page;
  }

  /** A counter's version goes up by one, like the counter: it conflicts with nobody. */
  async count(write: UpdateWrite): Promise<Item | undefined> {
    await this.#begin();
    const add = [...(write.change.add ?? []), [["rv"], 1] as const];
    const counted = await this.#table.count({ ...write, change: { ...write.change, add } });
    if (counted !== undefined) this.#note(this.#written, write.key, stampOf(counted));
    return counted;
  }

  async commit(writes: readonly Write[]): Promise<Commit> {
    const changes = writes.filter(({ kind }) => kind !== "check");
    if (changes.length === 0) return this.#table.commit(writes);
    await this.#begin();
    if (changes.every(({ key }) => isBody(key))) return this.#commitBodies(writes);
    await this.#until(this.#bodies, "recent");
    for (let attempt = 0; attempt < STAMP_ATTEMPTS; attempt++) {
      const commit = await this.#attempt(writes, changes);
      if (commit !== "again") return commit;
    }
    throw new Unavailable("others write newer versions all the time");
  }

  /** Resolves when every replica shows what an answer tells: what was written, and the single records that were read. */
  async replicated(): Promise<void> {
    await this.#until(new Map([...this.#rested, ...this.#written]), "fresh");
  }

  /** Before anything is written: then nothing of the call is held up half done. */
  #begin(): Promise<void> {
    this.#begun ??= this.#cluster.mayBegin(this.#table);
    return this.#begun;
  }

  async #commitBodies(writes: readonly Write[]): Promise<Commit> {
    if (writes.some(({ kind }) => kind === "delete")) await this.#until(this.#written, "recent");
    const mark = { stamp: nextStamp() };
    const commit = await this.#made(
      marked(writes, mark, randomId(), { commit: () => undefined, stone: () => undefined }),
    );
    if (commit.done) {
      for (const { kind, key } of writes) if (kind === "put") this.#note(this.#bodies, key, mark.stamp);
    }
    return commit;
  }

  async #attempt(writes: readonly Write[], changes: readonly Write[]): Promise<Commit | "again"> {
    const stones = await this.#stonesOf(changes);
    const stamp = nextStamp();
    const id = randomId();
    // What a limited queue has left is computed when a replica is promoted: it needs no journal.
    const isJournaled = changes.filter(({ key }) => !isCapacity(key)).length > 1;
    const mark: Mark = { stamp, commit: isJournaled ? id : undefined };
    const all = marked(writes, mark, id, {
      commit: (key) => this.#commits.get(nameOf(key)),
      stone: (key) => stones.get(nameOf(key)),
    });
    if (isJournaled) await this.#journal(id, stamp, all);
    const commit = await this.#made(all);
    if (commit.done) {
      for (const { kind, key } of changes) {
        this.#note(this.#written, key, stamp);
        if (kind === "delete") this.#commits.delete(nameOf(key));
        else if (isJournaled) this.#commits.set(nameOf(key), id);
      }
    } else if (commit.failures.length === 0 || commit.failures.some(({ found }) => stampOf(found) >= stamp)) {
      return "again";
    }
    return commit;
  }

  /** Of the records that are made again: these come after the commits that deleted them. */
  async #stonesOf(changes: readonly Write[]): Promise<ReadonlyMap<string, Item>> {
    const keys = changes.filter(isMadeAgain).map(({ key }) => key);
    const found = keys.length === 0 ? [] : await this.#table.readAll(keys.map(stoneKey));
    const stones = new Map<string, Item>();
    for (const [i, key] of keys.entries()) {
      const stone = found[i];
      if (stone === undefined) continue;
      meetStamp(stampOf(stone));
      stones.set(nameOf(key), stone);
      const commit = commitOf(stone);
      if (commit !== undefined) this.#commits.set(nameOf(key), commit);
    }
    return stones;
  }

  async #journal(id: string, stamp: number, all: readonly Marked[]): Promise<void> {
    const after = all.flatMap(({ write: { key } }) => this.#commits.get(nameOf(key)) ?? []);
    const writes = all.flatMap(({ write }) => (isStone(write.key) ? [] : [write]));
    await this.#table.commit([putJournal({ commit: id, stamp, writes, after: [...new Set(after)] })]);
    const key = journalKey(id);
    await this.#until(new Map([[nameOf(key), { key, stamp }]]), "recent");
  }

  /** The failures of what was asked for; none when only versions and stones were in the way. */
  async #made(all: readonly Marked[]): Promise<Commit> {
    const asked = new Map(all.map(({ write, of }) => [write, of]));
    const commit = await this.#table.commit(all.map(({ write }) => write));
    if (commit.done) return commit;
    for (const { found } of commit.failures) this.#meet(found);
    const failures = commit.failures.flatMap((failure): Failure[] => {
      const of = asked.get(failure.write);
      return of === undefined ? [] : [{ ...failure, write: of }];
    });
    return { ...commit, failures };
  }

  async #until(expected: ReadonlyMap<string, Expected>, freshness: "fresh" | "recent"): Promise<void> {
    if (expected.size === 0) return;
    await untilShown(this.#table, this.#cluster, [...expected.values()], freshness, this.#stopAtMs);
    if (expected === this.#bodies) this.#bodies.clear();
  }

  #rest(item: Item | undefined): Item | undefined {
    this.#meet(item);
    if (item === undefined || stampOf(item) === 0 || isOver(item)) return item;
    const key = { pk: String(item.pk), sk: String(item.sk) };
    // A body was there before the record that names it.
    if (!isBody(key)) this.#note(this.#rested, key, stampOf(item));
    return item;
  }

  #meet(item: Item | undefined): void {
    meetStamp(stampOf(item));
    const commit = commitOf(item);
    if (item !== undefined && commit !== undefined) this.#commits.set(`${item.pk}\n${item.sk}`, commit);
  }

  #note(into: Map<string, Expected>, key: Key, stamp: number): void {
    // Each store keeps that record for itself.
    if (key.pk === storeKey.pk) return;
    into.set(nameOf(key), { key, stamp });
  }
}

const nameOf = ({ pk, sk }: Key): string => `${pk}\n${sk}`;

const randomId = (): string => randomBytes(9).toString("base64url");

/** Its time to live may have taken it on a replica. */
const isOver = ({ ttl }: Item): boolean => typeof ttl === "number" && ttl * 1_000 <= Date.now();

const isBody = ({ pk }: Key): boolean => pk.startsWith("PAYLOAD#");

const isCapacity = ({ sk }: Key): boolean => sk.startsWith("CAPACITY#");

/** Of one record, or of all that a commit deletes: the journal has their deletions. */
const isStone = ({ pk }: Key): boolean => pk.startsWith(stonePrefix) || pk.startsWith(stonesPrefix);
