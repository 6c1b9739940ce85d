import { close, type Session } from "../../domain/session.ts";
import { readSession, writeSession } from "../../records/session.ts";
import { Unavailable } from "../../store/port.ts";
import type { Context } from "../context.ts";

/** Keep-alives may come in between: each that does makes this read again. */
const ROUNDS = 20;

/**
 * Closes those of the sessions whose time is over, for whoever is about to act on their end: no keep-alive can come in
 * after what was decided from it, by whatever clock. Gives all of them as they are then.
 */
export const closeExpired = async (
  context: Context,
  sessions: ReadonlyMap<string, Session>,
): Promise<ReadonlyMap<string, Session>> => {
  const after = await Promise.all([...sessions.values()].map((session) => closeIfExpired(context, session)));
  return new Map(after.flatMap((session) => (session === undefined ? [] : [[session.name, session]])));
};

const closeIfExpired = async (context: Context, first: Session): Promise<Session | undefined> => {
  let session = first;
  for (let round = 0; round < ROUNDS; round++) {
    const nowMs = context.now();
    if (session.state !== "attached" || session.expiresAtMs > nowMs) return session;
    const after = close(session, nowMs);
    const commit = await context.store.commit([writeSession(session, after)]);
    if (commit.done) return after;
    const found = commit.failures[0]?.found;
    if (found === undefined) return undefined;
    session = readSession(session.name, found);
  }
  throw new Unavailable(`session ${first.name} is changed by others all the time`);
};
