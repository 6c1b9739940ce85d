import { setTimeout as sleep } from "node:timers/promises";

/** Counts how many table calls stand one behind the other, by letting them go in steps. */
export interface Lockstep {
  /** One table call: it waits for its step. Outside `count` it goes at once. */
  pass<T>(send: () => Promise<T>): Promise<T>;
  /**
   * Runs `work` and answers how many steps its table calls took: all calls that are ready go together, the next ones only when
   * those are answered. So calls made side by side are one step, and the count is the longest chain of calls that wait
   * for each other, however fast or slow the machine is.
   */
  count(work: () => Promise<unknown>): Promise<number>;
}

/** Calls made side by side are all there after this; the next step begins when nothing came for so long. */
const QUIET_MS = 40;

export const lockstep = (): Lockstep => {
  let isCounting = false;
  let open = 0;
  let lastMs = 0;
  let waiting: (() => void)[] = [];

  /** Until `isDone`, lets what is ready go whenever nothing is under way and nothing new comes. */
  const step = async (isDone: () => boolean): Promise<number> => {
    let steps = 0;
    while (!isDone()) {
      await sleep(QUIET_MS / 4);
      if (waiting.length === 0 || open > 0 || performance.now() - lastMs < QUIET_MS) continue;
      steps += 1;
      open = waiting.length;
      for (const go of waiting.splice(0)) go();
    }
    return steps;
  };

  return {
    async pass(send) {
      if (!isCounting) return send();
      lastMs = performance.now();
      await new Promise<void>((go) => waiting.push(go));
      try {
        return await send();
      } finally {
        open -= 1;
        lastMs = performance.now();
      }
    },
    async count(work) {
      let isDone = false;
      isCounting = true;
      try {
        const working = work().finally(() => {
          isDone = true;
        });
        const [steps] = await Promise.all([step(() => isDone), working]);
        return steps;
      } finally {
        isCounting = false;
        for (const go of waiting.splice(0)) go();
        waiting = [];
      }
    },
  };
};
