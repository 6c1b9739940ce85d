/** The commands of a session that are open. */
import { mayHaveOpenCommands, type Session } from "../../domain/session.ts";
import { commandIdOf, readCommand, type StoredCommand } from "../../records/command.ts";
import { commandKey, commandPrefix, sessionKey } from "../../records/keys.ts";
import type { Item } from "../../records/write.ts";
import type { Context } from "../context.ts";
import { readable } from "../recovery/readable.ts";

/** The lowest open command, if there is any. */
export const firstOpen = async (context: Context, session: string): Promise<number | undefined> => {
  const { pk } = sessionKey(session);
  const { items } = await context.store.query({ pk, beginsWith: commandPrefix, limit: 1 });
  const [item] = items;
  return item && commandIdOf(item);
};

/** Whether anything that the session sends must go behind a command. */
export const hasOpen = async (context: Context, session: Session | undefined): Promise<boolean> =>
  session !== undefined && mayHaveOpenCommands(session) && (await firstOpen(context, session.name)) !== undefined;

/** Open commands that are looked at for a settle: where there are more, there may be one. */
const LOOKED_AT = 200;

/** Whether a settle may be open that the session stored at this epoch. */
export const hasOpenSettle = async (
  context: Context,
  session: Session | undefined,
  epoch: number,
): Promise<boolean> => {
  if (session === undefined || !mayHaveOpenCommands(session)) return false;
  let looked = 0;
  for await (const page of openCommands(context, session.name, 0, LOOKED_AT)) {
    for (const { command } of page) {
      if (command === undefined) continue;
      if (command.epoch > epoch) return false;
      if (command.epoch === epoch && command.kind === "settle") return true;
    }
    looked += page.length;
    if (looked >= LOOKED_AT) return true;
  }
  return false;
};

/** An open command; undefined where its record cannot be read. */
export interface Opened {
  readonly id: number;
  readonly command: StoredCommand | undefined;
}

/** The open commands of a session after `after`, in the order of their ids, at most `limit` at a time. */
export async function* openCommands(
  context: Context,
  session: string,
  after = 0,
  limit?: number,
): AsyncGenerator<readonly Opened[]> {
  let from: string | undefined = commandKey(session, after).sk;
  do {
    const { pk } = sessionKey(session);
    const page = await context.store.query({
      pk,
      beginsWith: commandPrefix,
      after: from,
      ...(limit !== undefined && { limit }),
    });
    yield page.items.map(opened);
    from = page.next;
  } while (from !== undefined);
}

const opened = (item: Item): Opened => ({
  id: commandIdOf(item),
  command: readable(() => readCommand(item)),
});

export const countOpen = async (context: Context, session: string): Promise<number> => {
  let count = 0;
  for await (const page of openCommands(context, session)) count += page.length;
  return count;
};
