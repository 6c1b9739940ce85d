import type { Message } from "../../domain/message.ts";
import { isRefusal } from "../../domain/refusal.ts";
import { putApplied } from "../../records/command.ts";
import { appliedKey } from "../../records/keys.ts";
import { decode } from "../../records/payload.ts";
import type { Context } from "../context.ts";
import { enqueueNow } from "../enqueue-now.ts";
import { deleteChunksOf, loadMessages } from "../payload.ts";
import { countDropped } from "./count-dropped.ts";
import { GuardedStore, Superseded } from "./guarded-store.ts";
import type { Transient } from "./hand-on.ts";

/**
 * Puts messages that came by the command queue on their queue, once however often they are delivered: the mark that they
 * are applied stands in the same commit. A queue that is gone takes none; a full one drops them, counted.
 */
export const applyTransient = async (context: Context, transient: Transient): Promise<void> => {
  try {
    await applyOnce(context, transient);
  } catch (error) {
    if (!(error instanceof Superseded)) throw error;
  }
  if (typeof transient.bodies !== "string") await deleteChunksOf(context, [transient.bodies]);
};

const applyOnce = async (context: Context, { id, session, queue: ref, bodies }: Transient): Promise<void> => {
  // Its bodies would be written again before the mark is met.
  if (typeof bodies !== "string" && (await isApplied(context, id))) return;
  const guarded: Context = {
    ...context,
    store: new GuardedStore(context.store, appliedKey(id)),
    beside: () => [putApplied(id, context.now())],
  };
  const queue = await context.settings.findLife(context.store, ref, context.now());
  if (queue === undefined) return;
  const messages = await messagesOf(context, bodies);
  // The session's name alone says which partition; its epoch has been checked when the messages were taken.
  const by = session === undefined ? undefined : { name: session, epoch: 0 };
  const targets = [{ queue, messages }];
  const answer = await enqueueNow(guarded, { messages, targets, handedOn: [], session: by, idempotency: undefined });
  // It may be full of these very messages.
  if (!isRefusal(answer) || (await isApplied(context, id))) return;
  // Before the mark: who comes after it counts nothing more.
  await countDropped(context, queue, session, messages.length);
  // Room that comes later is for what was sent later.
  await guarded.store.commit([putApplied(id, context.now())]);
};

const isApplied = async (context: Context, id: string): Promise<boolean> =>
  (await context.store.read(appliedKey(id))) !== undefined;

const messagesOf = async (context: Context, bodies: Transient["bodies"]): Promise<readonly Message[]> => {
  if (typeof bodies === "string") {
    return [...decode({ kind: "inline", bytes: Buffer.from(bodies, "base64") }, new Map()).values()];
  }
  const [only] = await loadMessages(context, bodies, [0]);
  return only === undefined ? [] : [only[1]];
};
