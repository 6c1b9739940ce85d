import { listPrepared } from "../../shared/commands/dtx/list.ts";
import { openCall } from "../../shared/config.ts";
import { isoTime, xidForm } from "../../shared/edge/branch-form.ts";
import { answer, route } from "../../shared/edge/route.ts";
import { placeCursor, recoverQuery } from "../../shared/edge/schemas/dtx-read.ts";

export const handler = route(openCall, { query: recoverQuery }, async (context, { query }) => {
  const { branches, unreadable, next } = await listPrepared(context, query.limit, query.cursor);
  return answer(200, {
    branches: branches.map(({ xid, state, preparedAtMs, session }) => ({
      ...xidForm(xid),
      state,
      preparedAt: isoTime(preparedAtMs),
      session,
    })),
    ...(unreadable.length > 0 && { unreadable: unreadable.map((key) => ({ key })) }),
    ...(next !== undefined && { cursor: placeCursor(next) }),
  });
});
