/** Text in bodies. */
import * as z from "zod";

export const HALF_A_PAIR = "must be Unicode: it has half of a surrogate pair";

/** Text that UTF-8 can carry: no half of a surrogate pair. */
export const unicode = (text: z.ZodString) => text.refine((value) => value.isWellFormed(), { error: HALF_A_PAIR });

/** What a caller may say about a message or a decision, in characters. */
const REASON_LENGTH = 1024;

export const reasonText = unicode(
  z
    .string({ error: "must be a string" })
    .max(REASON_LENGTH, { error: `must have at most ${REASON_LENGTH} characters` }),
);
