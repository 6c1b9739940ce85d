/** Every operation of the crash matrix. */
import type { Operation } from "../operation.ts";
import { branches } from "./branches.ts";
import { commands } from "./commands.ts";
import { deliveries } from "./deliveries.ts";
import { exchanges } from "./exchanges.ts";
import { messages } from "./messages.ts";
import { queues } from "./queues.ts";
import { recoveries } from "./recoveries.ts";
import { sessions } from "./sessions.ts";
import { transients } from "./transients.ts";

export const all: readonly Operation[] = [
  ...queues,
  ...exchanges,
  ...messages,
  ...deliveries,
  ...sessions,
  ...branches,
  ...recoveries,
  ...commands,
  ...transients,
];
