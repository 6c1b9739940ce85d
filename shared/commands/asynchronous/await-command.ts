import { setTimeout as sleep } from "node:timers/promises";
import type { Outcome } from "../../domain/command.ts";
import { readCommand, readCompletion, withdrawCommand } from "../../records/command.ts";
import { commandKey, completionKey } from "../../records/keys.ts";
import { ifInForce } from "../../records/remembered.ts";
import type { Write } from "../../records/write.ts";
import { Unavailable } from "../../store/port.ts";
import type { Context } from "../context.ts";
import { unpacked } from "../packed.ts";
import { deleteChunksOf } from "../payload.ts";

const FIRST_PAUSE_MS = 10;
const LONGEST_PAUSE_MS = 250;

/**
 * Waits for what a command comes to that one call sent behind others. When its time is over the command is given up, with
 * all that remembers it (`forget`), so that the call can be repeated: `Unavailable`.
 */
export const awaitCommand = async (
  context: Context,
  session: string,
  id: number,
  forget: readonly Write[],
): Promise<Outcome> => {
  let isLastLook = false;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
    const item = ifInForce(await context.store.read(completionKey(session, id)), context.now());
    if (item !== undefined) return unpacked(readCompletion(item).outcome) as Outcome;
    if (isLastLook) throw new Unavailable(`command ${id} of session ${session} waits for others`);
    await sleep(pauseMs);
    if (context.now() < context.stopAtMs) continue;
    // Fails when it has just begun, or come to its end: then one more look tells, or the time is over in the middle of it.
    if (await withdraw(context, session, id, forget)) {
      throw new Unavailable(`command ${id} of session ${session} waits for others`);
    }
    isLastLook = true;
  }
};

const withdraw = async (context: Context, session: string, id: number, forget: readonly Write[]): Promise<boolean> => {
  const item = await context.store.read(commandKey(session, id));
  if (item === undefined) return false;
  const command = readCommand(item);
  const commit = await context.store.commit([withdrawCommand(command), ...forget]);
  if (commit.done) await deleteChunksOf(context, [command.payload]);
  return commit.done;
};
