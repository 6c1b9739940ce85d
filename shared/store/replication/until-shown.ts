import { setTimeout as sleep } from "node:timers/promises";
import { type Store, Unavailable } from "../port.ts";
import type { Cluster, Expected, Follower } from "./port.ts";

const FIRST_WAIT_MS = 5;
const LONGEST_WAIT_MS = 200;

/**
 * Resolves when every replica that commands wait for shows these records. One that keeps it waiting for the cluster's time
 * is given up; throws `Unavailable` when the call's own time ends before.
 */
export const untilShown = async (
  primary: Store,
  cluster: Cluster,
  expected: readonly Expected[],
  freshness: "fresh" | "recent",
  stopAtMs: number,
): Promise<void> => {
  const followers = await cluster.followers(primary, freshness);
  const givenUp = await Promise.all(
    followers.map(async (follower) =>
      (await shown(follower, expected, cluster.timeoutMs, stopAtMs)) ? [] : [follower],
    ),
  );
  for (const { storeId } of givenUp.flat()) await cluster.giveUp(primary, storeId);
  // Whoever is told of the change in the meantime must show it too.
  if (givenUp.flat().length > 0) await untilShown(primary, cluster, expected, "fresh", stopAtMs);
};

const shown = async (
  follower: Follower,
  expected: readonly Expected[],
  timeoutMs: number,
  stopAtMs: number,
): Promise<boolean> => {
  const endMs = Date.now() + timeoutMs;
  let missing = expected;
  for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(LONGEST_WAIT_MS, waitMs * 2)) {
    missing = await follower.missing(missing).catch(() => missing);
    if (missing.length === 0) return true;
    const nowMs = Date.now();
    if (nowMs >= endMs) return false;
    if (nowMs >= stopAtMs) throw new Unavailable("it is stored, and not yet on every replica");
    await sleep(Math.min(waitMs, endMs - nowMs));
  }
};
