import { setTimeout as sleep } from "node:timers/promises";
import { MEMBERS_KNOWN_MS, REPLICA_TIMEOUT_SECONDS } from "../../domain/limits.ts";
import { storeKey } from "../../records/keys.ts";
import { type Configuration, readStore } from "../../records/store.ts";
import type { Store } from "../../store/port.ts";
import type { Cluster, Follower } from "../../store/replication/port.ts";
import { mustBePrimary, tell, tellAll } from "./change-configuration.ts";
import { followerOf } from "./follower.ts";
import { giveUp } from "./give-up.ts";
import { type OpenStore, waitedFor } from "./members.ts";

const PAUSE_POLL_MS = 100;
/** Whatever the clocks say. */
const LONGEST_PAUSE_MS = 10_000;

interface Known {
  readonly followers: readonly Follower[];
  readonly pausedUntilMs: number;
  readonly readAtMs: number;
}

/** The cluster as its primary's record has it. One a process: for a second it goes by what it read. */
export class KnownCluster implements Cluster {
  #timeoutMs = REPLICA_TIMEOUT_SECONDS * 1_000;
  readonly #open: OpenStore;
  #known: Known | undefined;

  constructor(open: OpenStore) {
    this.#open = open;
  }

  get timeoutMs(): number {
    return this.#timeoutMs;
  }

  async followers(primary: Store, freshness: "fresh" | "recent"): Promise<readonly Follower[]> {
    const readAtMs = Date.now();
    if (freshness === "recent" && this.#known !== undefined && readAtMs - this.#known.readAtMs < MEMBERS_KNOWN_MS) {
      return this.#known.followers;
    }
    const { configuration, pausedUntilMs } = readStore(await primary.read(storeKey));
    mustBePrimary(configuration);
    const followers = configuration === null ? [] : await this.#followersOf(primary, configuration);
    this.#timeoutMs = (configuration?.replicaTimeoutSeconds ?? REPLICA_TIMEOUT_SECONDS) * 1_000;
    this.#known = { followers, readAtMs, pausedUntilMs };
    return followers;
  }

  async mayBegin(primary: Store): Promise<void> {
    await this.followers(primary, "recent");
    const endMs = performance.now() + LONGEST_PAUSE_MS;
    while (Date.now() < (this.#known?.pausedUntilMs ?? 0) && performance.now() < endMs) {
      await sleep(PAUSE_POLL_MS);
      await this.followers(primary, "fresh");
    }
  }

  /** Whoever is waited for knows the configuration by which it is: else a store that was given up might not lose to it. */
  async #followersOf(primary: Store, read: Configuration): Promise<readonly Follower[]> {
    const configuration = await tellAll({ store: primary }, this.#open, read).catch(() => read);
    return waitedFor(configuration).map((member) => {
      const store = this.#open(member);
      const isTold = member.state === "joining" || member.told === configuration.configChange;
      return followerOf(member, store, isTold ? undefined : () => tell(store, configuration));
    });
  }

  async giveUp(primary: Store, storeId: string): Promise<void> {
    this.#known = undefined;
    await giveUp({ store: primary, now: Date.now }, this.#open, storeId);
  }
}
