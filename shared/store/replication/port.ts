/** What a replicated store asks of its cluster. */
import type { Key } from "../../records/write.ts";
import type { Store } from "../port.ts";

/** What a replica must show: this record at this version or newer, or that it is gone at one. */
export interface Expected {
  readonly key: Key;
  readonly stamp: number;
}

/** A replica that commands wait for. */
export interface Follower {
  readonly storeId: string;
  /** Those of them that it does not show. Throws when it cannot be reached. */
  missing(expected: readonly Expected[]): Promise<readonly Expected[]>;
}

/** The cluster, as the process knows it. */
export interface Cluster {
  /** How long a replica may keep a command waiting, in ms. */
  readonly timeoutMs: number;
  /**
   * The replicas that a command waits for. `fresh`: by a read that began now; each of them knows the configuration that
   * is told here. Otherwise as it was within the last second.
   */
  followers(primary: Store, freshness: "fresh" | "recent"): Promise<readonly Follower[]>;
  /** Resolves when a call may begin to write, by what was known within the last second. Throws on a replica. */
  mayBegin(primary: Store): Promise<void>;
  /** The replica has kept a command waiting for too long: the cluster goes on without it. */
  giveUp(primary: Store, storeId: string): Promise<void>;
}
