/** Bodies of the dtx verbs. */
import * as z from "zod";
import { BRANCH_TIMEOUT_SECONDS_MAX } from "../../domain/limits.ts";
import { integer } from "./queues.ts";
import { reasonText } from "./text.ts";

const flag = z.boolean({ error: "must be true or false" }).default(false);

const timeoutSeconds = integer(0, BRANCH_TIMEOUT_SECONDS_MAX);

export const startBody = z.strictObject({ join: flag, resume: flag, timeoutSeconds: timeoutSeconds.default(0) });

export const endBody = z.strictObject({ fail: flag, suspend: flag });

export const commitBody = z.strictObject({ onePhase: flag });

export const timeoutBody = z.strictObject({ timeoutSeconds });

export const heuristicBody = z.strictObject({
  outcome: z.enum(["commit", "rollback"], { error: 'must be "commit" or "rollback"' }),
  reason: reasonText.default(""),
});
