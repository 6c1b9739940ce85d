import { setTimeout as sleep } from "node:timers/promises";

/**
 * For whoever waits for what others do: yields at once, and then after pauses that double from `firstMs` to `longestMs`,
 * because each look costs a read. The last pause ends with the time that there is.
 */
export async function* looks(
  { now }: { readonly now: () => number },
  untilMs: number,
  firstMs: number,
  longestMs: number,
): AsyncGenerator<undefined> {
  yield;
  for (let pauseMs = firstMs; ; pauseMs = Math.min(pauseMs * 2, longestMs)) {
    const leftMs = untilMs - now();
    if (leftMs <= 0) return;
    await sleep(Math.min(pauseMs, leftMs));
    yield;
  }
}
