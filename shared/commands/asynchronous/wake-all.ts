import { unlistSession } from "../../records/command.ts";
import { commandListPk, shards } from "../../records/keys.ts";
import { text } from "../../records/reading.ts";
import { unlist } from "../../records/session.ts";
import type { Context } from "../context.ts";
import { loadSession } from "../sessions/liveness.ts";
import { firstOpen } from "./open-commands.ts";
import { wake } from "./wake.ts";

/** No session's name comes before this one. */
const FIRST_NAME = "-";

/** The backstop of the command queue: wakes the worker for every session with open commands, and forgets the others. */
export const wakeAll = async (context: Context): Promise<void> => {
  for (const shard of shards) {
    let after: string | undefined;
    do {
      const page = await context.store.query({
        pk: commandListPk(shard),
        from: FIRST_NAME,
        ...(after !== undefined && { after }),
      });
      for (const item of page.items) {
        if (context.now() >= context.stopAtMs) return;
        await wakeOrForget(context, text(item, "sk"));
      }
      after = page.next;
    } while (after !== undefined);
  }
};

const wakeOrForget = async (context: Context, name: string): Promise<void> => {
  const session = await loadSession(context, name);
  const open = await firstOpen(context, name);
  if (open !== undefined) return wake(context, name, open);
  // Fails when a command was stored meanwhile.
  await context.store.commit([...(session === undefined ? [] : [unlist(session)]), unlistSession(name)]);
};
