import { recoverPage } from "../shared/commands/recovery/recover.ts";
import { openCall } from "../shared/config.ts";
import { recoveryForm } from "../shared/edge/recovery-form.ts";
import { answer, route } from "../shared/edge/route.ts";
import { placeCursor, recoveryBody } from "../shared/edge/schemas/dtx-read.ts";

export const handler = route(openCall, { body: recoveryBody }, async (context, { body }) => {
  const { next, ...recovery } = await recoverPage(context, body.cursor);
  return answer(200, { ...recoveryForm(recovery), ...(next !== undefined && { cursor: placeCursor(next) }) });
});
