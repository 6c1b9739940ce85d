import type { Refusal } from "../../domain/refusal.ts";
import type { IsAlive } from "../../domain/run.ts";
import { fence, isAliveAt, type Session, type SessionRef } from "../../domain/session.ts";
import { sessionKey } from "../../records/keys.ts";
import { readSession } from "../../records/session.ts";
import { hasOpenSettle } from "../asynchronous/open-commands.ts";
import type { Context } from "../context.ts";
import { eachOf } from "../payload.ts";
import { closeExpired } from "./expire.ts";

/** The session's record, read freshly. */
export const loadSession = async (context: Context, name: string): Promise<Session | undefined> => {
  const item = await context.store.read(sessionKey(name));
  return item && readSession(name, item);
};

/** The fence of a call that names a session: nothing, or the refusal. */
export const fenceCall = async (context: Context, ref: SessionRef | undefined): Promise<Refusal | undefined> =>
  ref && fence(await loadSession(context, ref.name), ref, context.now());

/**
 * Sessions by name, read freshly, for whoever acts on their end; absent ones are left out. One whose time is over is
 * closed first: a keep-alive by a slower clock must not come in after what is decided from this.
 */
export const loadSessions = async (
  context: Context,
  refs: readonly SessionRef[],
): Promise<ReadonlyMap<string, Session>> => {
  const names = [...new Set(refs.map((ref) => ref.name))];
  const items = await context.store.readAll(names.map(sessionKey));
  const found = names.flatMap((name, i) =>
    items[i] === undefined ? [] : [[name, readSession(name, items[i])] as const],
  );
  return closeExpired(context, new Map(found));
};

/**
 * Whether leases under these sessions still count: also those of a session that has ended, until what it stored of settles
 * before has run. Whose accept was answered 202 must not see the message again. `own`: one that has been read already.
 */
export const livenessOf = async (context: Context, refs: readonly SessionRef[], own?: Session): Promise<IsAlive> => {
  if (refs.length === 0) return () => true;
  // Taken before they are read: whoever is over by now has been closed when they are.
  const nowMs = context.now();
  const others = refs.filter(({ name }) => name !== own?.name);
  const sessions = new Map([
    ...(others.length === 0 ? [] : await loadSessions(context, others)),
    ...(own === undefined ? [] : [[own.name, own] as const]),
  ]);
  const isAlive: IsAlive = ({ name, epoch }) => isAliveAt(sessions.get(name), epoch, nowMs);
  const ended = new Map(refs.filter((ref) => !isAlive(ref)).map((ref) => [nameOf(ref), ref]));
  const settling = new Set<string>();
  await eachOf([...ended], async ([name, ref]) => {
    // None can be stored any more at an epoch that has ended.
    if (await hasOpenSettle(context, sessions.get(ref.name), ref.epoch)) settling.add(name);
  });
  return (ref) => isAlive(ref) || settling.has(nameOf(ref));
};

const nameOf = ({ name, epoch }: SessionRef): string => `${epoch} ${name}`;
