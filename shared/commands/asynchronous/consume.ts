/** What consumes the command queue, and what consumes the commands that failed too often. */
import { refuse } from "../../domain/refusal.ts";
import { readCommand } from "../../records/command.ts";
import { commandKey } from "../../records/keys.ts";
import type { Context } from "../context.ts";
import { deleteChunksOf } from "../payload.ts";
import { loadSession } from "../sessions/liveness.ts";
import { applyTransient } from "./apply-transient.ts";
import { closingWrites } from "./close-command.ts";
import type { Transient } from "./hand-on.ts";
import { type Ran, runCommands } from "./run-commands.ts";
import { type Wake, wakeSurely } from "./wake.ts";

/** A message of the command queue; its body is one of ours. */
export interface Received {
  readonly body: unknown;
}

/** Answers how many of the messages, which are of one group and in order, are done. */
export const consumeCommands = async (context: Context, messages: readonly Received[]): Promise<number> => {
  const runs = new Map<string, Ran>();
  for (const [done, { body }] of messages.entries()) {
    const message = body as Wake | Transient;
    if (message.kind === "transient") await applyTransient(context, message);
    else if (await isBroken(context, message, runs)) return done;
  }
  return messages.length;
};

/** Runs the session's commands, once for all that the batch says of it. */
const isBroken = async (context: Context, { session, command }: Wake, runs: Map<string, Ran>): Promise<boolean> => {
  const known = runs.get(session);
  const ran = known ?? (await runCommands(context, session));
  runs.set(session, ran);
  // What this call's time did not suffice for goes on by a message of its own: those that wait behind this one may not.
  if (known === undefined && ran.isLeft) await wakeSurely(context, session, command);
  return ran.broken.has(command);
};

/**
 * As `consumeCommands`, of what was delivered too often: the command is closed with its failure, and those behind it go on.
 * Messages that needed not be stored are lost then.
 */
export const consumeFailed = async (context: Context, messages: readonly Received[]): Promise<number> => {
  for (const { body } of messages) {
    const message = body as Wake | Transient;
    if (message.kind === "transient") console.error(`messages for queue ${message.queue.name} are lost`);
    else await fail(context, message);
  }
  return messages.length;
};

const fail = async (context: Context, { session: name, command: id }: Wake): Promise<void> => {
  const item = await context.store.read(commandKey(name, id));
  if (item === undefined) return;
  const command = readCommand(item);
  const failure = refuse("internal-error", "the command failed at every attempt");
  const session = await loadSession(context, name);
  const commit = await context.store.commit(closingWrites(context, command, session, failure));
  if (commit.done) await deleteChunksOf(context, [command.payload]);
  await wakeSurely(context, name, id);
};
