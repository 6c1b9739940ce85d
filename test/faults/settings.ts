/** What a run of this folder is told by its environment. */

import { fnv1a } from "../../shared/domain/hash.ts";

/** Every operation, instead of the few that `npm test` has the time for. */
export const isThorough = process.env.CRASH === "all" || process.env.CRASH === "each";

/** Also every fault at every one of calls that are alike, and what follows each crash, also where it left the same state. */
export const isEach = process.env.CRASH === "each";

/** What `npm test` has the time for. */
export const SMOKE: readonly string[] = ["POST /queues/{queue}/messages one", "POST /dtx/{xid}/commit in two phases"];

/** Only operations whose name has this in it. */
export const only = process.env.OPERATION;

/** Only faults whose name has this in it. */
export const onlyFault = process.env.FAULT;

/** The same in every part of a run. */
export const seed = Number(process.env.SEED ?? (isThorough ? fnv1a(`run ${process.ppid}`) : 1));

/** Test files that the operations are divided among: as many as run at the same time. */
export const PARTS = 2;

/** Cases of a part that run at the same time, each on a table of its own: most of them wait for an answer. */
export const LANES = 10;

export const TIMEOUT_MS = 1_200_000;
