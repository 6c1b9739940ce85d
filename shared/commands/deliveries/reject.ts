import type { Refusal } from "../../domain/refusal.ts";
import { type SettleOutcome, settle } from "../../domain/run.ts";
import type { Dead } from "../change-run.ts";
import type { Context } from "../context.ts";
import { type SettleCall, settleDeliveries } from "./settle.ts";

/** Moves the messages to the dead-letter queue with what the caller says of them, or drops them when there is none. */
export const reject = (
  context: Context,
  call: SettleCall,
  note: string | undefined,
): Promise<readonly SettleOutcome[] | Refusal> =>
  settleDeliveries(context, call, (run, indexes) => ({
    after: settle(run, indexes),
    dead: indexes.map((index): Dead => ({ index, reason: "rejected", ...(note !== undefined && { note }) })),
  }));
