/** Bodies of the session routes. */
import * as z from "zod";
import { SESSION_TIMEOUT_SECONDS_MAX } from "../../domain/limits.ts";
import { integer } from "./queues.ts";

export const sessionBody = z.strictObject({ timeoutSeconds: integer(1, SESSION_TIMEOUT_SECONDS_MAX).optional() });
