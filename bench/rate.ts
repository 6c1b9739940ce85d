/** How often work was done, and how long it took. */
export interface Rate {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
}

/** The part of the time that is not measured: connections open, code is compiled. */
const WARM_UP = 0.2;

/** Runs the rounds side by side, each again and again, for so many seconds. */
export const rateOf = async (rounds: readonly (() => Promise<unknown>)[], seconds: number): Promise<Rate> => {
  const beginMs = performance.now() + seconds * 1_000 * WARM_UP;
  const endMs = performance.now() + seconds * 1_000;
  const tookMs: number[] = [];
  await Promise.all(
    rounds.map(async (round) => {
      for (let startMs = performance.now(); startMs < endMs; startMs = performance.now()) {
        await round();
        const doneMs = performance.now();
        if (startMs >= beginMs && doneMs <= endMs) tookMs.push(doneMs - startMs);
      }
    }),
  );
  const sorted = tookMs.toSorted((a, b) => a - b);
  return {
    perSecond: (sorted.length * 1_000) / (endMs - beginMs),
    p50Ms: percentile(sorted, 0.5),
    p95Ms: percentile(sorted, 0.95),
  };
};

const percentile = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
