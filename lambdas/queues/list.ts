import { listQueues } from "../../shared/commands/queues/list.ts";
import { openCall } from "../../shared/config.ts";
import { answer, route } from "../../shared/edge/route.ts";
import { queueCursor, queueListQuery } from "../../shared/edge/schemas/browse.ts";

export const handler = route(openCall, { query: queueListQuery }, async (context, { query }) => {
  const { queues, next } = await listQueues(context, { ...query, after: query.cursor });
  return answer(200, {
    queues: queues.map(({ name, settings }) => ({ queue: name, ...settings })),
    ...(next !== undefined && { cursor: queueCursor(next) }),
  });
});
