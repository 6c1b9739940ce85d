import type { Refusal } from "../../domain/refusal.ts";
import { release as releaseMessages, type SettleOutcome, settle, standingOf } from "../../domain/run.ts";
import type { Context } from "../context.ts";
import { overOf } from "../over.ts";
import { type SettleCall, settleDeliveries } from "./settle.ts";

/**
 * Gives the messages back to their original position, after a delay if one is given. A message whose time is over by now,
 * or that has been delivered as often as its queue allows, goes where such messages go instead.
 */
export const release = (
  context: Context,
  call: SettleCall,
  delaySeconds: number,
  note: string | undefined,
): Promise<readonly SettleOutcome[] | Refusal> =>
  settleDeliveries(context, call, (run, indexes, queue, nowMs) => {
    const released = releaseMessages(run, indexes, delaySeconds === 0 ? 0 : nowMs + delaySeconds * 1000);
    const standings = indexes.map((index) => standingOf(released, index, queue.settings, nowMs, () => true));
    const { settled, dead } = overOf(indexes, standings, note);
    return {
      after: settled.length === 0 ? released : { ...settle(released, settled), version: released.version },
      dead,
    };
  });
