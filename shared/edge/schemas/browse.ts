/** Query parameters of the routes that read queues. */
import * as z from "zod";
import { isName } from "../../domain/name.ts";
import { integerText } from "./queues.ts";

const SEQUENCE_SHAPE = "must be a sequence, a decimal number of at most 20 digits";

const sequenceText = z.string().regex(/^\d{1,20}$/, { error: SEQUENCE_SHAPE });

/** `cursor` goes on where an answer stopped, and is one of its sequences; beside it `after` says nothing more. */
export const browseQuery = z.strictObject({
  after: sequenceText.optional(),
  limit: integerText(1, 500).default(100),
  cursor: sequenceText.optional(),
});

const CURSOR_SHAPE = "must be a cursor as an answer gave it";

const cursorText = z
  .string()
  .transform((text) => Buffer.from(text, "base64url").toString("utf8"))
  .refine(isName, { error: CURSOR_SHAPE });

export const queueListQuery = z.strictObject({
  prefix: z
    .string()
    .regex(/^[A-Za-z0-9._-]{0,127}$/, { error: "must be at most 127 characters of A-Z a-z 0-9 . _ -" })
    .default(""),
  limit: integerText(1, 500).default(100),
  cursor: cursorText.optional(),
});

/** The cursor that goes on after the queue of this name. */
export const queueCursor = (name: string): string => Buffer.from(name).toString("base64url");
