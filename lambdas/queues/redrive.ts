import { redrive } from "../../shared/commands/queues/redrive.ts";
import { openCall } from "../../shared/config.ts";
import { isRefusal } from "../../shared/domain/refusal.ts";
import { answer, route } from "../../shared/edge/route.ts";
import { redriveBody } from "../../shared/edge/schemas/queues.ts";

export const handler = route(openCall, { path: ["queue"], body: redriveBody }, async (context, call) => {
  const redriven = await redrive(context, call.name("queue"), call.body.to);
  return isRefusal(redriven) ? redriven : answer(200, redriven);
});
