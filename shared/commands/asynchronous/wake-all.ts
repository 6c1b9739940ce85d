import { unlistSession } from "../../records/command.ts";
import { commandListPk, shards } from "../../records/keys.ts";
import { text } from "../../records/reading.ts";
import { unlist } from "../../records/session.ts";
import type { Context } from "../context.ts";
import { inTurn, namesPages } from "../pages.ts";
import { eachOf } from "../payload.ts";
import { loadSession } from "../sessions/liveness.ts";
import { firstOpen } from "./open-commands.ts";
import { wake } from "./wake.ts";

/**
 * The backstop of the command queue: wakes the worker for every session with open commands, and takes the others off the list.
 * A record that cannot be read, or that the table does not give, stops nothing else.
 */
export const wakeAll = async (context: Context): Promise<void> => {
  for (const shard of inTurn(shards, context.now())) {
    for await (const page of namesPages(context, commandListPk(shard))) {
      if (context.now() >= context.stopAtMs) return;
      await eachOf(page, async (item) => {
        try {
          await wakeOrForget(context, text(item, "sk"));
        } catch (error) {
          console.error(error);
        }
      });
    }
  }
};

const wakeOrForget = async (context: Context, name: string): Promise<void> => {
  if (context.now() >= context.stopAtMs) return;
  const session = await loadSession(context, name);
  const open = await firstOpen(context, name);
  if (open !== undefined) return wake(context, name, open);
  // Fails when a command was stored meanwhile.
  await context.store.commit([...(session === undefined ? [] : [unlist(session)]), unlistSession(name)]);
};
