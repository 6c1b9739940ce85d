/** What deleted queues counted, kept in the store's record: `next`, `settled` and `dead`, as at a tail. */
import { storeKey } from "./keys.ts";
import type { Tail } from "./queue.ts";
import type { Write } from "./write.ts";

/** Adds a buried queue's counters to the store's; the store's change counter goes on over them. */
export const foldTails = (tails: readonly Tail[]): Write => ({
  kind: "update",
  key: storeKey,
  change: {
    add: [
      [["next"], sum(tails, (tail) => tail.enqueued)],
      [["settled"], sum(tails, (tail) => tail.settled)],
      [["dead"], sum(tails, (tail) => tail.deadLettered)],
    ],
  },
  require: [],
  otherwise: "reload",
});

const sum = (tails: readonly Tail[], of: (tail: Tail) => number): number => tails.reduce((n, tail) => n + of(tail), 0);
