import { wakeAll } from "../../shared/commands/asynchronous/wake-all.ts";
import { recoverAll } from "../../shared/commands/recovery/recover.ts";
import { sweepAll } from "../../shared/commands/sweep-all.ts";
import { openCall } from "../../shared/config.ts";
import { scheduled } from "../../shared/edge/scheduled.ts";

/** The backstop: wakes what is asleep, finishes what is decided, undoes what is dead, sends on what time has ended. */
export const handler = scheduled(openCall, async (context) => {
  await wakeAll(context);
  await recoverAll(context);
  await sweepAll(context);
});
