/** Query parameters and bodies of the routes that list branches; cursors are places in the list of all branches. */
import * as z from "zod";
import { SHARDS } from "../../domain/limits.ts";
import { integerText } from "./queues.ts";

const CURSOR_SHAPE = "must be a cursor as an answer gave it";

/** After this key of this shard, or before the shard's first. */
interface Place {
  readonly shard: number;
  readonly after?: string;
}

const parsePlace = (text: string): Place | undefined => {
  const match = /^(\d{1,2}) (XID#[0-9a-f.]{1,300})?$/.exec(Buffer.from(text, "base64url").toString("utf8"));
  if (match === null || Number(match[1]) >= SHARDS) return undefined;
  return { shard: Number(match[1]), ...(match[2] !== undefined && { after: match[2] }) };
};

export const placeCursor = ({ shard, after }: Place): string =>
  Buffer.from(`${shard} ${after ?? ""}`).toString("base64url");

const cursorText = z.string({ error: CURSOR_SHAPE }).transform((text, ctx): Place => {
  const place = parsePlace(text);
  if (place !== undefined) return place;
  ctx.issues.push({ code: "custom", message: CURSOR_SHAPE, input: text });
  return z.NEVER;
});

export const recoverQuery = z.strictObject({
  state: z.literal("prepared", { error: "must be prepared" }).default("prepared"),
  limit: integerText(1, 500).default(100),
  cursor: cursorText.optional(),
});

export const recoveryBody = z.strictObject({ cursor: cursorText.optional() });
