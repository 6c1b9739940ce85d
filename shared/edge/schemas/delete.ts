/** Query parameters of deleting a queue. */
import * as z from "zod";
import { booleanText } from "./queues.ts";

export const deleteQuery = z.strictObject({
  ifEmpty: booleanText.default(false),
  ifUnused: booleanText.default(false),
});
