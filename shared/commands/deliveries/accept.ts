import type { Refusal } from "../../domain/refusal.ts";
import { type SettleOutcome, settle } from "../../domain/run.ts";
import type { Context } from "../context.ts";
import { acceptInBranch } from "../dtx/accept.ts";
import { type SettleCall, settleDeliveries } from "./settle.ts";

/** Removes the messages for good; in a branch, enlists their removal. */
export const accept = (context: Context, call: SettleCall): Promise<readonly SettleOutcome[] | Refusal> =>
  call.xid === undefined
    ? settleDeliveries(context, call, (run, indexes) => ({ after: settle(run, indexes), dead: [] }))
    : acceptInBranch(context, call.deliveries, call.xid, call.session);
