import type { Outcome } from "../../domain/command.ts";
import { isDetached, type Session } from "../../domain/session.ts";
import { closeCommand, putCompletion, type StoredCommand } from "../../records/command.ts";
import type { Write } from "../../records/write.ts";
import type { Context } from "../context.ts";
import { packed } from "../packed.ts";

/**
 * The writes that close a command with what it came to: they stand beside its effect, so that both are there or neither,
 * and once. A session that was detached at the command's epoch is told nothing. `isDecided`: the answer was noted before.
 */
export const closingWrites = (
  context: Context,
  command: StoredCommand,
  session: Session | undefined,
  outcome: Outcome,
  isDecided: boolean,
): readonly Write[] => {
  const isHeard =
    command.audience === "call" || (command.audience === "session" && !isDetached(session, command.epoch));
  return [
    closeCommand(command, isDecided),
    ...(isHeard ? [putCompletion(command, packed(outcome), context.now())] : []),
  ];
};
