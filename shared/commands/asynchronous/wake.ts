import { randomBytes } from "node:crypto";
import { Unavailable } from "../../store/port.ts";
import type { Context } from "../context.ts";

/** The command queue's message that a session has a command to run. */
export interface Wake {
  readonly kind: "wake";
  readonly session: string;
  readonly command: number;
  /** It is in a group of its own. */
  readonly isAlone?: true;
}

/** Wakes the worker for a command. Lost, the schedule does it: the command is stored. */
export const wake = async (context: Context, session: string, command: number): Promise<void> => {
  try {
    await wakeSurely(context, session, command);
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error;
  }
};

/** As `wake`; throws `Unavailable` when the worker may not hear of it. */
export const wakeSurely = async (
  context: Context,
  session: string,
  command: number,
  isAlone = false,
): Promise<void> => {
  const body: Wake = { kind: "wake", session, command, ...(isAlone && { isAlone }) };
  // Never the same id: what a worker leaves open is sent anew, and must not be taken for what it has just received.
  const id = `${session}#${command}#${randomBytes(6).toString("base64url")}`;
  const group = isAlone ? `${session}#${command}` : session;
  await context.commandQueue.send([{ group, id, body: JSON.stringify(body) }]);
};
