/**
 * Queue settings, kept up to 30 s. They never change within a generation; a deleted queue's closed tails and the fresh
 * look before an empty answer catch a copy that is too old.
 */
import { SETTINGS_CACHE_MS } from "../domain/limits.ts";
import type { Queue, QueueRef } from "../domain/queue.ts";
import { settingsKey } from "../records/keys.ts";
import { readQueue } from "../records/queue.ts";
import type { Store } from "../store/port.ts";

export class SettingsCache {
  readonly #known = new Map<string, { readonly queue: Queue; readonly readAtMs: number }>();

  /** The queue, or undefined when there is none. `fresh` reads it in any case. */
  async find(store: Store, name: string, nowMs: number, fresh = false): Promise<Queue | undefined> {
    const known = this.#known.get(name);
    if (!fresh && known !== undefined && nowMs - known.readAtMs < SETTINGS_CACHE_MS) return known.queue;
    const item = await store.read(settingsKey(name));
    if (item === undefined) {
      this.#known.delete(name);
      return undefined;
    }
    const queue = readQueue(name, item);
    this.#known.set(name, { queue, readAtMs: nowMs });
    return queue;
  }

  /**
   * The queue of this very life of the name, or undefined when that is over. A kept copy may be of an older life than the
   * caller knows of: another process has deleted and declared the name since. Then it is read again.
   */
  async findLife(store: Store, { name, generation }: QueueRef, nowMs: number): Promise<Queue | undefined> {
    const known = await this.find(store, name, nowMs);
    if (known === undefined || known.generation === generation) return known;
    const queue = await this.find(store, name, nowMs, true);
    return queue?.generation === generation ? queue : undefined;
  }

  /**
   * The queue as it is now, or undefined: the kept copy when an eventually consistent look, at half the price, still finds
   * its generation; whatever else it finds is read strongly.
   */
  async confirm(store: Store, name: string, nowMs: number): Promise<Queue | undefined> {
    const known = this.#known.get(name);
    if (known !== undefined && nowMs - known.readAtMs < SETTINGS_CACHE_MS) {
      const item = await store.read(settingsKey(name), "eventual");
      if (item !== undefined && readQueue(name, item).generation === known.queue.generation) return known.queue;
    }
    return this.find(store, name, nowMs, true);
  }

  forget(name: string): void {
    this.#known.delete(name);
  }
}
