import { sendCommand } from "../../shared/commands/asynchronous/send-command.ts";
import { declareQueue } from "../../shared/commands/queues/declare.ts";
import { openCall } from "../../shared/config.ts";
import { isRefusal } from "../../shared/domain/refusal.ts";
import { resultForm, sentForm } from "../../shared/edge/result-form.ts";
import { route } from "../../shared/edge/route.ts";
import { settingsBody } from "../../shared/edge/schemas/queues.ts";

export const handler = route(openCall, { path: ["queue"], body: settingsBody }, async (context, call) => {
  const { body: settings, asyncIn: session } = call;
  const queue = call.name("queue");
  if (session !== undefined) {
    return sentForm(await sendCommand(context, { session, request: { kind: "declare-queue", queue, settings } }));
  }
  const declared = await declareQueue(context, queue, settings);
  if (isRefusal(declared)) return declared;
  return resultForm({ kind: "queue-declared", queue, settings: declared.queue.settings, isNew: declared.isNew });
});
