import type { Branch } from "../../domain/branch.ts";
import { type Refusal, refuse } from "../../domain/refusal.ts";
import type { Xid } from "../../domain/xid.ts";

/**
 * Whether a branch is another life of its xid than the one that a call has found fit for what it is about. Such a call is
 * late: it must not go on with the new one. `fit` may have been a late read, so the call is not refused for good.
 */
export const isNextLife = (fit: Branch | undefined, now: Branch | undefined): boolean =>
  fit !== undefined && now !== undefined && fit.incarnation !== now.incarnation;

export const nextLife = (xid: Xid): Refusal =>
  refuse("unavailable", `branch ${xid} ended and began anew meanwhile: repeat the call if it means the new one`);
