import { declareQueue } from "../../shared/commands/queues/declare.ts";
import { openCall } from "../../shared/config.ts";
import { isRefusal } from "../../shared/domain/refusal.ts";
import { answer, route } from "../../shared/edge/route.ts";
import { settingsBody } from "../../shared/edge/schemas/queues.ts";

export const handler = route(openCall, { path: ["queue"], body: settingsBody }, async (context, call) => {
  const declared = await declareQueue(context, call.name("queue"), call.body);
  if (isRefusal(declared)) return declared;
  return answer(declared.isNew ? 201 : 200, { queue: declared.queue.name, ...declared.queue.settings });
});
