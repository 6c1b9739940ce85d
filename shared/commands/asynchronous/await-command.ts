import type { Outcome } from "../../domain/command.ts";
import { readCommand, readCompletion, withdrawCommand } from "../../records/command.ts";
import { commandKey, completionKey } from "../../records/keys.ts";
import { ifInForce } from "../../records/remembered.ts";
import type { Write } from "../../records/write.ts";
import { Unavailable } from "../../store/port.ts";
import type { Context } from "../context.ts";
import { looks } from "../looks.ts";
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
  for await (const _ of looks(context, context.stopAtMs, FIRST_PAUSE_MS, LONGEST_PAUSE_MS)) {
    const outcome = await outcomeOf(context, session, id);
    if (outcome !== undefined) return outcome;
  }
  // Not withdrawn, it has just begun, or come to its end: then one more look tells, or the time is over in the middle of it.
  const isWithdrawn = await withdraw(context, session, id, forget);
  const outcome = isWithdrawn ? undefined : await outcomeOf(context, session, id);
  if (outcome === undefined) throw new Unavailable(`command ${id} of session ${session} waits for others`);
  return outcome;
};

const outcomeOf = async (context: Context, session: string, id: number): Promise<Outcome | undefined> => {
  const item = ifInForce(await context.store.read(completionKey(session, id)), context.now());
  return item && (unpacked(readCompletion(item).outcome) as Outcome);
};

const withdraw = async (context: Context, session: string, id: number, forget: readonly Write[]): Promise<boolean> => {
  const item = await context.store.read(commandKey(session, id));
  if (item === undefined) return false;
  const command = readCommand(item);
  const commit = await context.store.commit([withdrawCommand(command), ...forget]);
  if (commit.done) await deleteChunksOf(context, [command.payload]);
  return commit.done;
};
