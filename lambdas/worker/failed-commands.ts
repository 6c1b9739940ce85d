import { consumeFailed } from "../../shared/commands/asynchronous/consume.ts";
import { openCall } from "../../shared/config.ts";
import { queued } from "../../shared/edge/queued.ts";

export const handler = queued(openCall, consumeFailed);
