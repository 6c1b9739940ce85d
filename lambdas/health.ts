import { openCall } from "../shared/config.ts";
import { answer, route } from "../shared/edge/route.ts";
import { version } from "../shared/version.ts";

export const handler = route(openCall, {}, async () => answer(200, { status: "ok", version }));
