/** Bodies of the session routes. */
import * as z from "zod";
import { COMMANDS_MAX, SESSION_TIMEOUT_SECONDS_MAX, WAIT_SECONDS_MAX } from "../../domain/limits.ts";
import { integer, integerText } from "./queues.ts";

export const sessionBody = z.strictObject({ timeoutSeconds: integer(1, SESSION_TIMEOUT_SECONDS_MAX).optional() });

export const syncBody = z.strictObject({ waitSeconds: integer(0, WAIT_SECONDS_MAX).default(WAIT_SECONDS_MAX) });

export const completionsQuery = z.strictObject({
  /** Only those above it. */
  after: integerText(0, COMMANDS_MAX).default(0),
  waitSeconds: integerText(0, WAIT_SECONDS_MAX).default(0),
});
