/** What a run of this folder is told by its environment. */

/** Every operation, instead of the few that `npm test` has the time for. */
export const isThorough = process.env.CRASH === "all" || process.env.CRASH === "each";

/** Also every fault at every one of calls that are alike. */
export const isEach = process.env.CRASH === "each";

/** What `npm test` has the time for. */
export const SMOKE: readonly string[] = ["POST /queues/{queue}/messages one", "POST /dtx/{xid}/commit in two phases"];

/** Only operations whose name has this in it. */
export const only = process.env.OPERATION;

/** Only faults whose name has this in it. */
export const onlyFault = process.env.FAULT;

export const seed = Number(process.env.SEED ?? (isThorough ? Math.floor(Math.random() * 2 ** 31) : 1));

/** Cases that run at the same time, each on a table of its own: most of them wait for an answer. */
export const LANES = 8;

export const TIMEOUT_MS = 900_000;
