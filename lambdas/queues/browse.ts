import { browse } from "../../shared/commands/queues/browse.ts";
import { openCall } from "../../shared/config.ts";
import { isRefusal } from "../../shared/domain/refusal.ts";
import { messageForm } from "../../shared/edge/message-form.ts";
import { answer, route } from "../../shared/edge/route.ts";
import { browseQuery } from "../../shared/edge/schemas/browse.ts";

export const handler = route(openCall, { path: ["queue"], query: browseQuery }, async (context, call) => {
  const { after, limit, cursor } = call.query;
  const page = await browse(context, call.name("queue"), { after: cursor ?? after, limit });
  if (isRefusal(page)) return page;
  return answer(200, {
    messages: page.messages.map(({ sequence, messageId, message }) => ({
      sequence,
      ...messageForm(message, messageId),
    })),
    ...(page.next !== undefined && { cursor: page.next }),
  });
});
