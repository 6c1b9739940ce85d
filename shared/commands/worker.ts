/** What consumes the command queue, and what consumes the commands that failed too often. */
import type { Context } from "./context.ts";

interface ReceivedMessage {
  readonly id: string;
  readonly body: unknown;
  readonly receiveCount: number;
}

/** Answers how many of the messages, which are of one group and in order, are done. */
export const consumeCommands = async (_context: Context, messages: readonly ReceivedMessage[]): Promise<number> => {
  for (const { id } of messages) console.log(`command ${id}`);
  return messages.length;
};

/** As `consumeCommands`, of the commands that were delivered too often. */
export const consumeFailed = async (_context: Context, messages: readonly ReceivedMessage[]): Promise<number> => {
  for (const { id } of messages) console.error(`command ${id} failed`);
  return messages.length;
};
