import { wakeAll } from "../../shared/commands/asynchronous/wake-all.ts";
import { openCall } from "../../shared/config.ts";
import { scheduled } from "../../shared/edge/scheduled.ts";

/** The backstop of the command queue: a message that was lost is sent again. */
export const handler = scheduled(openCall, wakeAll);
