import { recoverAll } from "../../shared/commands/recovery/recover.ts";
import { sweepAll } from "../../shared/commands/sweep-all.ts";
import { openCall } from "../../shared/config.ts";
import { scheduled } from "../../shared/edge/scheduled.ts";

/** The backstop: finishes what is decided, undoes what is dead, sends on what time has ended. */
export const handler = scheduled(openCall, async (context) => {
  await recoverAll(context);
  await sweepAll(context);
});
