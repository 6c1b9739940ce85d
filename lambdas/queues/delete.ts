import { sendCommand } from "../../shared/commands/asynchronous/send-command.ts";
import { deleteQueue } from "../../shared/commands/queues/delete.ts";
import { openCall } from "../../shared/config.ts";
import { sentForm } from "../../shared/edge/result-form.ts";
import { answer, route } from "../../shared/edge/route.ts";
import { deleteQuery } from "../../shared/edge/schemas/delete.ts";

export const handler = route(openCall, { path: ["queue"], query: deleteQuery }, async (context, call) => {
  const { query, asyncIn: session } = call;
  const queue = call.name("queue");
  if (session !== undefined) {
    return sentForm(await sendCommand(context, { session, request: { kind: "delete-queue", queue, ...query } }));
  }
  return (await deleteQueue(context, queue, query)) ?? answer(204);
});
