import { storeStatus } from "../../shared/commands/store/status.ts";
import { openCall } from "../../shared/config.ts";
import { route } from "../../shared/edge/route.ts";
import { statusForm } from "../../shared/edge/store-form.ts";

export const handler = route(openCall, {}, async (context) => statusForm(await storeStatus(context)));
