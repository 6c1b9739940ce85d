/**
 * Queue settings, kept up to 30 s. They never change within a generation; a deleted queue's closed tails and the fresh
 * look before an empty answer catch a copy that is too old.
 */
import { SETTINGS_CACHE_MS } from "../domain/limits.ts";
import type { Queue } from "../domain/queue.ts";
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

  forget(name: string): void {
    this.#known.delete(name);
  }
}
