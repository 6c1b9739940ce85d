/** `dtx.md`, States: what a verb answers of a branch, by its state. `open` is idle here: its associations have ended. */
import type { Verb, Verdict } from "./values.ts";

export const [OK, ROLLED_BACK, TIMED_OUT] = ["XA_OK", "XA_RBROLLBACK", "XA_RBTIMEOUT"] as const;
export const ILLEGAL = "illegal-state";

export const columns: readonly string[] = ["associated", "open", "rollback-only", "prepared", "timed-out"];

export const table: Readonly<Record<Verb, readonly [Verdict, Verdict, Verdict, Verdict, Verdict]>> = {
  prepare: [ILLEGAL, OK, ROLLED_BACK, ILLEGAL, TIMED_OUT],
  onePhase: [ILLEGAL, OK, ROLLED_BACK, ILLEGAL, TIMED_OUT],
  commit: [ILLEGAL, ILLEGAL, ROLLED_BACK, OK, TIMED_OUT],
  rollback: [ILLEGAL, OK, OK, OK, TIMED_OUT],
  decideCommit: [ILLEGAL, ILLEGAL, ILLEGAL, OK, ILLEGAL],
  decideRollback: [ILLEGAL, ILLEGAL, ILLEGAL, OK, ILLEGAL],
  forget: [ILLEGAL, ILLEGAL, ILLEGAL, ILLEGAL, ILLEGAL],
};
