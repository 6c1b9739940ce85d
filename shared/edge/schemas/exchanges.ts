/** Bodies and query parameters of the exchange routes. */
import * as z from "zod";
import { type BindingArguments, type ExchangeSettings, exchangeTypes } from "../../domain/exchange.ts";
import { HEADERS_BYTES, TEXT_LENGTH } from "../../domain/limits.ts";
import { enqueueBody } from "./messages.ts";
import { integerText, nameText } from "./queues.ts";
import { HALF_A_PAIR, unicode } from "./text.ts";

export const exchangeBody = z.strictObject({
  type: z.enum(exchangeTypes, { error: 'must be "direct", "fanout", "topic" or "headers"' }),
  alternateExchange: z.nullable(nameText).default(null),
}) satisfies z.ZodType<ExchangeSettings>;

const KEY_SHAPE = `must have at most ${TEXT_LENGTH} characters`;

/** A routing or binding key: the words of a topic stand between dots. */
const keyText = unicode(z.string({ error: "must be a string" }).max(TEXT_LENGTH, { error: KEY_SHAPE }));

const argumentValue = z.union([unicode(z.string()), z.number(), z.boolean(), z.null()], {
  error: "must be a string, a number, true, false or null",
});

/** Not a record of the validator's: that leaves out an argument named `__proto__`. */
const bindingArguments = z
  .custom<BindingArguments>((value) => typeof value === "object" && value !== null && !Array.isArray(value), {
    error: "must be an object of strings, numbers, true, false and null",
  })
  .superRefine((value, context) => {
    for (const [name, one] of Object.entries(value)) {
      const error = name.isWellFormed() ? argumentValue.safeParse(one).error?.issues[0]?.message : HALF_A_PAIR;
      if (error !== undefined) context.addIssue({ code: "custom", path: [name], message: error });
    }
    const match = Object.hasOwn(value, "x-match") ? value["x-match"] : "all";
    if (match !== "all" && match !== "any") {
      context.addIssue({ code: "custom", path: ["x-match"], message: 'must be "all" or "any"' });
    }
  })
  .refine((value) => Buffer.byteLength(JSON.stringify(value)) <= HEADERS_BYTES, {
    error: `must have at most ${HEADERS_BYTES} bytes as JSON`,
  });

export const bindBody = z.strictObject({
  queue: nameText,
  bindingKey: keyText.default(""),
  arguments: bindingArguments.default({}),
});

export const unbindQuery = z.strictObject({ queue: nameText, bindingKey: keyText.default("") });

const cursorText = z
  .string()
  .transform((text) => Buffer.from(text, "base64url").toString("utf8"))
  .refine((text) => text.startsWith("BINDING#"), { error: "must be a cursor as an answer gave it" });

export const bindingsQuery = z.strictObject({
  limit: integerText(1, 500).default(100),
  cursor: cursorText.optional(),
});

/** The cursor that goes on after this binding. */
export const bindingsCursor = (next: string): string => Buffer.from(next).toString("base64url");

export const publishBody = z.strictObject({
  ...enqueueBody.shape,
  routingKey: keyText.default(""),
  mandatory: z.boolean({ error: "must be true or false" }).default(false),
});
