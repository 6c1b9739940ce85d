/** What a run of this folder is told by its environment. */

/** All orders of all pairs, instead of as many as `npm test` has the time for. */
const isThorough = process.env.INTERLEAVINGS === "all";

/** Orders of a pair that are searched for; beyond them as many are run by chance. */
export const atMost = isThorough ? 2_000 : 12;

/** The same of a pair that is long. */
export const longAtMost = isThorough ? 400 : 12;

/** Orders of a triple, each by chance. */
export const triplesAtMost = isThorough ? 150 : 8;

export const seed = Number(process.env.SEED ?? (isThorough ? Math.floor(Math.random() * 2 ** 31) : 1));

/** One order, as a failure printed it: together with `-t` and the scenario's name. */
export const schedule = process.env.SCHEDULE;

export const TIMEOUT_MS = isThorough ? 1_800_000 : 120_000;
