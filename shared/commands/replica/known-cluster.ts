import { MEMBERS_KNOWN_MS, REPLICA_TIMEOUT_SECONDS } from "../../domain/limits.ts";
import type { Configuration } from "../../records/store.ts";
import type { Store } from "../../store/port.ts";
import type { Cluster, Follower } from "../../store/replication/port.ts";
import { mustBePrimary, readConfiguration, tell, tellAll } from "./change-configuration.ts";
import { followerOf } from "./follower.ts";
import { giveUp } from "./give-up.ts";
import { type OpenStore, waitedFor } from "./members.ts";

/** The cluster as its primary's record has it. One a process: for a second it goes by what it read. */
export class KnownCluster implements Cluster {
  #timeoutMs = REPLICA_TIMEOUT_SECONDS * 1_000;
  readonly #open: OpenStore;
  #known: { readonly followers: readonly Follower[]; readonly readAtMs: number } | undefined;

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
    const configuration = await readConfiguration(primary);
    mustBePrimary(configuration);
    const followers = configuration === null ? [] : await this.#followersOf(primary, configuration);
    this.#timeoutMs = (configuration?.replicaTimeoutSeconds ?? REPLICA_TIMEOUT_SECONDS) * 1_000;
    this.#known = { followers, readAtMs };
    return followers;
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
