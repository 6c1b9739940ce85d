/**
 * A feed as bad as a stream allows: it pauses, dies at any call, brings what it brought before once more, and keeps the
 * order of one record only.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { applyImages } from "../../shared/commands/replica/apply.ts";
import { Fenced } from "../../shared/commands/replica/commit-fed.ts";
import type { Item } from "../../shared/records/write.ts";
import type { Chance } from "../history/random.ts";
import type { Replica } from "../support/cluster.ts";
import { Died, dyingStore } from "./dying-store.ts";

/** Batches that may come again. */
const REMEMBERED = 12;
const POLL_MS = 12;

export class WildFeed {
  readonly #replica: Replica;
  readonly #chance: Chance;
  /** What has not come yet, record by record. */
  readonly #waiting = new Map<string, Item[]>();
  readonly #former: (readonly Item[])[] = [];
  #noted = new Set<string>();
  #running: Promise<void> | undefined;
  #isCut = false;
  deaths = 0;

  constructor(replica: Replica, chance: Chance) {
    this.#replica = replica;
    this.#chance = chance;
  }

  start(): void {
    this.#isCut = false;
    this.#running ??= this.#run();
  }

  /** Ends it where it is, in the middle of what it does. */
  async cut(): Promise<void> {
    this.#isCut = true;
    await this.#running;
    this.#running = undefined;
  }

  /** Brings all that is left; for a replica that was promoted since that is nothing. Says whether it was let in. */
  async goOn(): Promise<boolean> {
    this.#take(await this.#replica.images());
    const left = [...this.#waiting.values()].flat();
    this.#waiting.clear();
    try {
      await applyImages(this.#replica.store, left);
      return true;
    } catch (error) {
      if (error instanceof Fenced) return false;
      throw error;
    }
  }

  async #run(): Promise<void> {
    while (!this.#isCut) {
      if (this.#chance.isOneIn(25)) await sleep(this.#chance.whole(20, 200));
      await this.#step();
      await sleep(POLL_MS);
    }
  }

  async #step(): Promise<void> {
    this.#take(await this.#replica.images());
    const batch = this.#batch();
    if (batch.length === 0) return;
    const again = this.#chance.isOneIn(10) ? this.#former[this.#chance.whole(0, REMEMBERED - 1)] : undefined;
    const dyingAt = this.#chance.isOneIn(10) ? this.#chance.whole(0, 12) : Number.POSITIVE_INFINITY;
    const how = this.#chance.isOneIn(2) ? "dies before" : "dies after";
    const apply = () =>
      applyImages(
        dyingStore(this.#replica.store, (call) => (this.#isCut ? "dies before" : call === dyingAt ? how : "lives")),
        [...(again ?? []), ...batch],
        this.#noted,
      );
    try {
      // Now and then it is thought to be dead, and is not.
      const applied = await Promise.allSettled(this.#chance.isOneIn(15) ? [apply(), apply()] : [apply()]);
      for (const one of applied) if (one.status === "rejected") throw one.reason;
      this.#former[this.#chance.whole(0, REMEMBERED - 1)] = batch;
    } catch (error) {
      if (!(error instanceof Died)) throw error;
      this.deaths += 1;
      this.#noted = new Set();
      this.#giveBack(batch);
    }
  }

  #take(images: readonly Item[]): void {
    for (const image of images) {
      const key = `${image.pk}\n${image.sk}`;
      const queue = this.#waiting.get(key);
      if (queue === undefined) this.#waiting.set(key, [image]);
      else queue.push(image);
    }
  }

  /** Some of the records, in any order; of each as many images as it likes, the first ones first. */
  #batch(): readonly Item[] {
    const keys = this.#shuffled([...this.#waiting.keys()]).filter(() => !this.#chance.isOneIn(4));
    return keys.flatMap((key) => {
      const images = this.#waiting.get(key) ?? [];
      const taken = images.splice(0, this.#chance.isOneIn(3) ? this.#chance.whole(1, images.length) : images.length);
      if (images.length === 0) this.#waiting.delete(key);
      return taken;
    });
  }

  #giveBack(batch: readonly Item[]): void {
    const newer = [...this.#waiting.values()].flat();
    this.#waiting.clear();
    this.#take([...batch, ...newer]);
  }

  #shuffled<T>(all: readonly T[]): readonly T[] {
    return all
      .map((one) => [this.#chance.next(), one] as const)
      .toSorted(([a], [b]) => a - b)
      .map(([, one]) => one);
  }
}
