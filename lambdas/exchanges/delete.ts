import { deleteExchange } from "../../shared/commands/exchanges/delete.ts";
import { openCall } from "../../shared/config.ts";
import { answer, route } from "../../shared/edge/route.ts";

export const handler = route(
  openCall,
  { path: ["exchange"] },
  async (context, call) => (await deleteExchange(context, call.name("exchange"))) ?? answer(204),
);
