import { deleteQueue } from "../../shared/commands/queues/delete.ts";
import { openCall } from "../../shared/config.ts";
import { answer, route } from "../../shared/edge/route.ts";
import { deleteQuery } from "../../shared/edge/schemas/delete.ts";

export const handler = route(openCall, { path: ["queue"], query: deleteQuery }, async (context, call) => {
  const refusal = await deleteQueue(context, call.name("queue"), call.query);
  return refusal ?? answer(204);
});
