import { unlistSession } from "../../records/command.ts";
import { commandListPk, shards } from "../../records/keys.ts";
import { text } from "../../records/reading.ts";
import { unlist } from "../../records/session.ts";
import type { Context } from "../context.ts";
import { eachOf } from "../payload.ts";
import { loadSession } from "../sessions/liveness.ts";
import { firstOpen } from "./open-commands.ts";
import { wake } from "./wake.ts";

/** No session's name comes before this one. */
const FIRST_NAME = "-";
/** The time between two runs: the next one begins at the next shard, so that none waits forever behind a long one. */
const TURN_MS = 60_000;

/**
 * The backstop of the command queue: wakes the worker for every session with open commands, and takes the others off the list.
 * A record that cannot be read, or that the table does not give, stops nothing else.
 */
export const wakeAll = async (context: Context): Promise<void> => {
  const turn = Math.floor(context.now() / TURN_MS) % shards.length;
  for (const shard of [...shards.slice(turn), ...shards.slice(0, turn)]) {
    let after: string | undefined;
    do {
      const page = await context.store.query({
        pk: commandListPk(shard),
        from: FIRST_NAME,
        ...(after !== undefined && { after }),
      });
      if (context.now() >= context.stopAtMs) return;
      await eachOf(page.items, async (item) => {
        try {
          await wakeOrForget(context, text(item, "sk"));
        } catch (error) {
          console.error(error);
        }
      });
      after = page.next;
    } while (after !== undefined);
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
