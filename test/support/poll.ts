import { setTimeout as sleep } from "node:timers/promises";

/** How long to go on asking, and how often. */
export interface PollBounds {
  readonly withinMs?: number;
  readonly everyMs?: number;
}

/**
 * Asks until `check` no longer throws, and answers what it returned; past `withinMs` (default 5 s) the last error is thrown. For
 * what the contract promises within a time, never to hide what it promises at once.
 */
export async function eventually<T>(check: () => Promise<T> | T, bounds: PollBounds = {}): Promise<T> {
  const { withinMs = 5000, everyMs = 50 } = bounds;
  const deadline = Date.now() + withinMs;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() >= deadline) throw error;
    }
    await sleep(everyMs);
  }
}

/** Waits `ms` milliseconds: for deadlines of the contract, which are whole seconds. */
export const wait = (ms: number): Promise<void> => sleep(ms);
