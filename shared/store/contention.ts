/** When to try again, how long to wait, and when to give up. */
import { setTimeout as sleep } from "node:timers/promises";
import { Unavailable } from "./port.ts";

/** Rounds of waiting for contention to pass: about 3 s in all, far below the 5 minutes that a token allows. */
const ROUNDS = 10;
const FIRST_WAIT_MS = 10;
const LONGEST_WAIT_MS = 600;

/** Waits before round `round` + 1 (0 is the first), with full jitter; gives up past the budget. */
export const patient = async (round: number): Promise<void> => {
  if (round >= ROUNDS) throw new Unavailable("contention outlasted the retry budget");
  await sleep(Math.random() * Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** round));
};

/** Runs one SDK call, which retries by itself; what it then still says of lost contact or throttling is `Unavailable`. */
export const lostContact = async <T>(call: () => Promise<T>): Promise<T> => {
  try {
    return await call();
  } catch (error) {
    throw isLost(error) ? new Unavailable("the table could not be reached or throttled", { cause: error }) : error;
  }
};

const throttled: readonly string[] = [
  "ProvisionedThroughputExceededException",
  "ThrottlingException",
  "RequestLimitExceeded",
  "InternalServerError",
  "ServiceUnavailable",
  "TimeoutError",
];

const isLost = (error: unknown): boolean => {
  if (!(error instanceof Error)) return false;
  const { code, $metadata } = error as { code?: unknown; $metadata?: { httpStatusCode?: number } };
  const isSocket = typeof code === "string" && /^E(?!RR_)[A-Z_]+$/.test(code);
  return throttled.includes(error.name) || isSocket || ($metadata?.httpStatusCode ?? 0) >= 500;
};
