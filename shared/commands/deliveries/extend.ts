import type { Refusal } from "../../domain/refusal.ts";
import { extend as extendLeases, type SettleOutcome, slotAt } from "../../domain/run.ts";
import type { Context } from "../context.ts";
import { type SettleCall, settleDeliveries } from "./settle.ts";

/** Gives leases a later deadline, this long from now; one that has a later one already keeps it. */
export const extend = (
  context: Context,
  call: SettleCall,
  leaseSeconds: number,
): Promise<readonly SettleOutcome[] | Refusal> =>
  settleDeliveries(context, call, (run, indexes, _queue, nowMs) => {
    const expiresAtMs = nowMs + leaseSeconds * 1000;
    const earlier = indexes.filter((index) => {
      const slot = slotAt(run, index);
      return slot.state === "leased" && slot.lease.expiresAtMs < expiresAtMs;
    });
    return { after: earlier.length === 0 ? run : extendLeases(run, earlier, expiresAtMs), dead: [] };
  });
