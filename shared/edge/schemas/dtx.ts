/** Bodies of the dtx verbs. */
import * as z from "zod";
import { BRANCH_TIMEOUT_SECONDS_MAX } from "../../domain/limits.ts";
import { integer } from "./queues.ts";

const flag = z.boolean({ error: "must be true or false" }).default(false);

const timeoutSeconds = integer(0, BRANCH_TIMEOUT_SECONDS_MAX);

export const startBody = z.strictObject({ join: flag, resume: flag, timeoutSeconds: timeoutSeconds.default(0) });

export const endBody = z.strictObject({ fail: flag, suspend: flag });

export const commitBody = z.strictObject({ onePhase: flag });

export const timeoutBody = z.strictObject({ timeoutSeconds });

/** What an operator may say of a decision, in characters. */
const REASON_LENGTH = 1024;

export const heuristicBody = z.strictObject({
  outcome: z.enum(["commit", "rollback"], { error: 'must be "commit" or "rollback"' }),
  reason: z
    .string({ error: "must be a string" })
    .max(REASON_LENGTH, { error: `must have at most ${REASON_LENGTH} characters` })
    .default(""),
});
