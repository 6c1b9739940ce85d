import type { Branch } from "../../domain/branch.ts";
import type { Operation } from "../../domain/operation.ts";
import type { Refusal } from "../../domain/refusal.ts";
import { unknownBranch } from "../../domain/verb.ts";
import type { Xid } from "../../domain/xid.ts";
import { outcomeKey } from "../../records/keys.ts";
import { ifInForce, type RememberedOutcome, readOutcome } from "../../records/remembered.ts";
import type { Context } from "../context.ts";
import { loadBranch } from "./load.ts";
import { loadOperations } from "./operations.ts";

export type BranchView =
  | { readonly branch: Branch; readonly operations: readonly Operation[] }
  | { readonly outcome: RememberedOutcome };

/** A branch as time and its sessions have left it, or what it became, for as long as that is remembered. */
export const getBranch = async (context: Context, xid: Xid): Promise<BranchView | Refusal> => {
  const branch = await loadBranch(context, xid);
  if (branch !== undefined) return { branch, operations: await loadOperations(context, branch) };
  const item = ifInForce(await context.store.read(outcomeKey(xid)), context.now());
  return item === undefined ? unknownBranch(xid) : { outcome: readOutcome(item) };
};
